#include "cpu/tile_run.hpp"

#include <algorithm>

#include "schedule/fixup.hpp"

namespace tessera::cpu {
namespace {

constexpr std::size_t kCacheLine = 64;
// A piece of A takes half of the second-level cache; the other half is for the panel of B in use,
// the next ones on their way, and C.
constexpr std::int64_t kDefaultL2 = 1 << 20;
constexpr std::int64_t kChunkBytesOfB = 128 << 10;

std::size_t line_up(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

const void* at(const ConstMatrixView& view, std::int64_t row, std::int64_t col) {
  return static_cast<const unsigned char*>(view.data) +
         (row * view.row_stride + col * view.col_stride) * size_of(view.type);
}

// How an item of one product walks its block: rows of A packed at a time, columns of B at a time,
// and whether all of B's block is kept for further pieces of A or the next item.
struct Blocking {
  std::int64_t depth = 0;  // of a full block
  std::int64_t rows = 0;   // mc
  std::int64_t cols = 0;
  bool keeps_b = false;
};

Blocking blocking_of(const Launch& launch, const Product& product) {
  const KernelCode& code = *product.code;
  Blocking blocking;
  blocking.depth = std::min<std::int64_t>(product.specs.a.block_cols, product.depth());
  const std::int64_t depth = std::max<std::int64_t>(1, code.padded(blocking.depth));

  const std::int64_t l2 =
      launch.plan.machine.scratchpad_bytes > 0 ? launch.plan.machine.scratchpad_bytes : kDefaultL2;
  const std::int64_t fitting = l2 / 2 / (depth * code.packed_size_a);
  const std::int64_t wanted = launch.plan.tile.mc > 0 ? launch.plan.tile.mc : fitting;
  const std::int64_t rows = std::min(product.specs.c.block_rows, product.c.rows);
  blocking.rows = std::max<std::int64_t>(code.mr, std::min(wanted, rows) / code.mr * code.mr);
  // Nearly equal pieces, so that no sliver is left at the end.
  const std::int64_t pieces = (rows + blocking.rows - 1) / blocking.rows;
  blocking.rows = round_up((rows + pieces - 1) / std::max<std::int64_t>(1, pieces), code.mr);

  blocking.keeps_b = product.c.rows > blocking.rows;
  const std::int64_t chunk = kChunkBytesOfB / (depth * code.packed_size_b) / code.nr * code.nr;
  blocking.cols = std::max<std::int64_t>(code.nr, chunk);
  return blocking;
}

}  // namespace

PanelSizes panel_sizes(const Launch& launch) {
  PanelSizes sizes;
  const Problem& problem = launch.plan.problem;
  const bool splits = launch.layout.slots > 0;
  for (const Operands& operands : launch.groups) {
    const Product product = product_of(operands, launch.plan.tile, problem.epilogue, launch.code);
    if (product.c.rows == 0 || product.c.cols == 0) continue;
    const KernelCode& code = *product.code;
    const Blocking blocking = blocking_of(launch, product);
    const std::int64_t block_cols = std::min(product.specs.c.block_cols, product.c.cols);
    const std::int64_t block_rows = std::min(product.specs.c.block_rows, product.c.rows);
    if (launch.multiplies() && !product.a_in_place) {
      const std::int64_t panels = blocking.rows / code.mr;
      sizes.a = std::max(sizes.a, line_up(panels * code.panel_bytes_a(blocking.depth)));
    }
    if (launch.multiplies() && !product.b_in_place) {
      const std::int64_t cols = blocking.keeps_b ? block_cols : std::min(block_cols, blocking.cols);
      const std::int64_t panels = (cols + code.nr - 1) / code.nr;
      sizes.b = std::max(sizes.b, line_up(panels * code.panel_bytes_b(blocking.depth)));
    }
    if (!product.sums_in_c() && (splits || product.depth() > product.specs.a.block_cols)) {
      sizes.sums = std::max(
          sizes.sums, line_up(block_rows * padded_columns(block_cols) * size_of(code.accumulator)));
    }
  }
  return sizes;
}

TileRunner::TileRunner(const Launch& launch, const PanelSizes& sizes, void* memory,
                       ItemClock& clock)
    : launch_(launch),
      clock_(clock),
      a_panels_(static_cast<unsigned char*>(memory)),
      b_panels_(a_panels_ + sizes.a),
      sums_(b_panels_ + sizes.b) {}

void TileRunner::select(std::int32_t group) {
  if (group == group_) return;
  group_ = group;
  product_ = product_of(launch_.groups[static_cast<std::size_t>(group)], launch_.plan.tile,
                        launch_.plan.problem.epilogue, launch_.code);
}

unsigned char* TileRunner::slot(const WorkItem& item, std::int32_t peer) const {
  return launch_.slots + item.slot(peer) * launch_.layout.slot_bytes;
}

// `scaled`: alpha and beta have entered the sum already.
Finish TileRunner::finish_of(const TileExtent& tile, bool scaled) const {
  const MatrixView& c = product_.c;
  Finish finish;
  finish.alpha = scaled ? 1 : launch_.plan.problem.alpha;
  finish.beta = scaled ? 0 : launch_.plan.problem.beta;
  finish.c = const_cast<void*>(at(c, tile.row, tile.col));
  finish.row_stride = c.row_stride;
  finish.col_stride = c.col_stride;
  finish.c_type = c.type;
  finish.bias_axis = product_.epilogue.bias;
  finish.activation = product_.epilogue.activation;
  if (finish.bias_axis != BiasAxis::none) {
    const std::int64_t first = finish.bias_axis == BiasAxis::row ? tile.row : tile.col;
    finish.bias_type = product_.bias.type;
    finish.bias_stride = product_.bias.stride;
    finish.bias = static_cast<const unsigned char*>(product_.bias.data) +
                  first * product_.bias.stride * size_of(product_.bias.type);
  }
  return finish;
}

void TileRunner::run(const WorkItem& item) {
  select(item.group);
  const TileExtent tile = product_.extent(item);
  const Problem& problem = launch_.plan.problem;
  const bool whole = item.is_whole_tile();
  const std::int32_t k_begin = item.k_begin;
  // Without a product to compute, one pass over the sums is enough.
  const std::int32_t k_end = launch_.multiplies() ? item.k_end : k_begin + 1;

  BlockTask first;
  BlockTask next;
  bool finishes = whole;
  bool scaled = false;
  if (!whole) {
    first.sum = slot(item, item.peer);
    first.sum_stride = padded_columns(tile.cols);
  } else if (product_.sums_in_c()) {
    first.sum = const_cast<void*>(at(product_.c, tile.row, tile.col));
    first.sum_stride = product_.c.row_stride;
    first.alpha = problem.alpha;
    first.beta = problem.beta;
    scaled = true;
    finishes = problem.epilogue != Epilogue{};
  } else if (k_end - k_begin > 1) {
    first.sum = sums_;
    first.sum_stride = padded_columns(tile.cols);
  }
  next = first;
  next.beta = 1;

  const Finish finish = finish_of(tile, scaled);
  for (std::int32_t iteration = k_begin; iteration < k_end; ++iteration) {
    multiply_block(item, tile, iteration, iteration == k_begin ? first : next, finish,
                   finishes && iteration + 1 == k_end);
  }
  if (!whole) fix_up(item, tile);
}

BlockOperand TileRunner::block_of_a(const WorkItem& item, const TileExtent& tile,
                                    std::int64_t iteration, std::int64_t depth,
                                    std::int64_t first_row, std::int64_t rows) {
  const ConstMatrixView& a = product_.a;
  const void* data = at(a, tile.row + first_row, iteration * product_.specs.a.block_cols);
  if (product_.a_in_place) return {data, true, a.row_stride, a.col_stride};
  const Held wanted{item.group, tile.row, iteration, first_row};
  if (held_a_ != wanted) {
    const PackingTime packing(clock_);
    product_.code->pack_a({data, rows, depth, a.row_stride, a.col_stride}, a_panels_);
    held_a_ = wanted;
  }
  return {a_panels_};
}

// One MAC iteration of a tile.
void TileRunner::multiply_block(const WorkItem& item, const TileExtent& tile,
                                std::int64_t iteration, BlockTask task, const Finish& finish,
                                bool finishes) {
  const KernelCode& code = *product_.code;
  const ConstMatrixView& b = product_.b;
  const Blocking blocking = blocking_of(launch_, product_);
  const std::int64_t k = iteration * product_.specs.a.block_cols;
  task.depth =
      launch_.multiplies() ? std::min(product_.specs.a.block_cols, product_.depth() - k) : 0;
  auto* sum = static_cast<unsigned char*>(task.sum);
  const std::int64_t sum_size = size_of(code.accumulator);
  const bool packs_b = !product_.b_in_place && task.depth > 0;
  const Held wanted_b{item.group, tile.col, iteration, 0};
  const bool b_is_held = blocking.keeps_b && held_b_ == wanted_b;
  if (packs_b && !b_is_held) held_b_ = blocking.keeps_b ? wanted_b : Held{};

  for (std::int64_t row = 0; row < tile.rows; row += blocking.rows) {
    task.rows = std::min(blocking.rows, tile.rows - row);
    if (task.depth > 0) task.a = block_of_a(item, tile, iteration, task.depth, row, task.rows);

    for (std::int64_t col = 0; col < tile.cols; col += blocking.cols) {
      task.cols = std::min(blocking.cols, tile.cols - col);
      if (product_.b_in_place) {
        task.b = {at(b, k, tile.col + col), true, 1, b.row_stride};
      } else if (packs_b) {
        unsigned char* panels = b_panels_;
        if (blocking.keeps_b) panels += col / code.nr * code.panel_bytes_b(task.depth);
        if (row == 0 && !b_is_held) {
          const PackingTime packing(clock_);
          code.pack_b({at(b, k, tile.col + col), task.cols, task.depth, b.col_stride, b.row_stride},
                      panels);
        }
        task.b = {panels};
      }
      if (sum != nullptr) task.sum = sum + (row * task.sum_stride + col) * sum_size;
      Finish block_finish;
      if (finishes) {
        block_finish = finish;
        block_finish.c =
            static_cast<unsigned char*>(finish.c) +
            (row * finish.row_stride + col * finish.col_stride) * size_of(finish.c_type);
        if (finish.bias_axis != BiasAxis::none) {
          const std::int64_t first = finish.bias_axis == BiasAxis::row ? row : col;
          block_finish.bias = static_cast<const unsigned char*>(finish.bias) +
                              first * finish.bias_stride * size_of(finish.bias_type);
        }
        task.finish = &block_finish;
      }
      code.multiply(task);
    }
  }
}

void TileRunner::fix_up(const WorkItem& item, const TileExtent& tile) {
  const KernelCode& code = *product_.code;
  const std::int64_t stride = padded_columns(tile.cols);
  clock_.multiplied();
  FixupStep step(item.peer, item.peers);
  for (; step.valid(); step.up()) {
    // The partial is in its slot: the kernel collected it there. Releasing it and acquiring the
    // others' is one operation.
    std::atomic_ref<std::int32_t> arrivals(
        launch_.counters[step.counter(item, launch_.layout.counters)]);
    if (arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 < step.children()) return;
    arrivals.store(0, std::memory_order_relaxed);
    unsigned char* sum = slot(item, step.child(0));
    for (std::int32_t c = 1; c < step.children(); ++c) {
      code.add(sum, slot(item, step.child(c)), tile.rows * stride);
    }
  }
  code.finish(finish_of(tile, false), slot(item, step.peer()), stride, tile.rows, tile.cols);
  clock_.wrote_tile();
}

}  // namespace tessera::cpu
