#include "cpu/tile_run.hpp"

#include <algorithm>

#include "cpu/copied_rows.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/strips.hpp"
#include "schedule/fixup.hpp"

namespace tessera::cpu {
namespace {

const void* at(const ConstMatrixView& view, std::int64_t row, std::int64_t col) {
  return static_cast<const unsigned char*>(view.data) +
         (row * view.row_stride + col * view.col_stride) * size_of(view.type);
}

// Rows, or columns where those are dense; nothing where neither is.
FarRows far_rows(const ConstMatrixView& view, std::int64_t row, std::int64_t col, std::int64_t rows,
                 std::int64_t cols) {
  const bool by_rows = view.col_stride == 1;
  if (!by_rows && view.row_stride != 1) return {};
  const std::int64_t size = size_of(view.type);
  const std::int64_t bytes = (by_rows ? cols : rows) * size;
  const std::int64_t stride = (by_rows ? view.row_stride : view.col_stride) * size;
  return {static_cast<const unsigned char*>(at(view, row, col)), stride, bytes,
          by_rows ? rows : cols};
}

}  // namespace

class TileRunner::Pieces {
 public:
  // From `begin` to `end`, `most` at a time.
  Pieces(std::int64_t begin, std::int64_t end, std::int64_t most)
      : begin_(begin), after_(begin), end_(end), most_(most) {}

  // Of an open tile: as many units at a time as make `most`, as long as others leave any.
  Pieces(OpenTiles& tiles, int thread, const Units& units, int first_unit, std::int64_t most)
      : begin_(first_unit * units.each),
        most_(most),
        tiles_(&tiles),
        thread_(thread),
        units_(units) {}

  bool next() {
    first_ = after_;
    if (tiles_ == nullptr) {
      after_ = std::min(first_ + most_, end_);
      return first_ < end_;
    }
    int unit = 0;
    const auto most = static_cast<int>(std::max<std::int64_t>(1, most_ / units_.each));
    const int count = tiles_->take(thread_, most, unit);
    if (count == 0) return false;
    first_ = unit * units_.each;
    after_ = units_.start_of(unit + count);
    return true;
  }

  // The piece that next() found.
  std::int64_t first() const { return first_; }
  std::int64_t after() const { return after_; }
  std::int64_t count() const { return after_ - first_; }
  bool is_first() const { return first_ == begin_; }

  std::int64_t begin() const { return begin_; }
  std::int64_t end() const {
    return tiles_ != nullptr ? units_.start_of(tiles_->end(thread_)) : end_;
  }

 private:
  std::int64_t begin_ = 0;
  std::int64_t first_ = 0;
  std::int64_t after_ = 0;
  std::int64_t end_ = 0;
  std::int64_t most_ = 0;
  OpenTiles* tiles_ = nullptr;
  int thread_ = 0;
  Units units_;
};

TileRunner::TileRunner(const Launch& launch, const PanelSizes& sizes, void* memory,
                       ItemClock& clock)
    : launch_(launch),
      clock_(clock),
      a_panels_(static_cast<unsigned char*>(memory)),
      b_panels_(a_panels_ + sizes.a),
      room_(b_panels_ + sizes.b),
      sums_(room_ + sizes.room) {}

void TileRunner::select(std::int32_t group) {
  if (group == group_) return;
  group_ = group;
  product_ =
      product_of(launch_.groups[static_cast<std::size_t>(group)], launch_.plan, launch_.code);
  blocking_ = blocking_of(launch_, product_);
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

void TileRunner::run(const WorkItem& item, std::int32_t worker) {
  select(item.group);
  worker_ = worker;
  walk(item, product_.extent(item), 0, sums_);
}

void TileRunner::run_tile(const WorkItem& item, std::int32_t tile) {
  select(item.group);
  const TileExtent extent = product_.extent(item);
  const std::int64_t passes = std::int64_t{item.k_end} * passes_of_block(blocking_, extent);
  units_ = units_of(product_, blocking_, extent);
  const bool opens = open_ != nullptr && units_.count > 1 &&
                     units_.count <= OpenTiles::kMostUnits && passes <= OpenTiles::kMostPasses;
  if (!opens) return walk(item, extent, 0, sums_);
  const auto number = static_cast<std::uint32_t>(tile);
  open_->open_own(thread_, number, units_.count);
  walk_open(item, extent, {number, 0, 0, units_.count}, sums_);
}

void TileRunner::run_part(const WorkItem& item, const TilePart& part) {
  select(item.group);
  const TileExtent extent = product_.extent(item);
  units_ = units_of(product_, blocking_, extent);
  open_->open(thread_, part);
  walk_open(item, extent, part, open_->sums_of(part.tile));
}

void TileRunner::walk_open(const WorkItem& item, const TileExtent& tile, const TilePart& part,
                           unsigned char* sums) {
  is_open_ = true;
  is_first_pass_ = true;
  first_unit_ = part.begin;
  walk(item, tile, part.pass, sums);
  is_open_ = false;
}

TileRunner::Pieces TileRunner::next_pass() {
  if (!is_first_pass_) open_->start_pass(thread_, first_unit_);
  is_first_pass_ = false;
  return {*open_, thread_, units_, first_unit_,
          blocking_.units_are_cols ? blocking_.cols : blocking_.rows};
}

void TileRunner::walk(const WorkItem& item, const TileExtent& tile, int first_pass,
                      unsigned char* sums) {
  const Problem& problem = launch_.plan.problem;
  const bool whole = item.is_whole_tile();
  const std::int32_t k_begin = item.k_begin;
  // Without a product to compute, one pass over the sums is enough.
  const std::int32_t k_end = launch_.multiplies() ? item.k_end : k_begin + 1;

  BlockTask first;
  first.tile_rows = static_cast<std::int16_t>(blocking_.tile_rows);
  first.b_is_far = blocking_.b_is_far;
  first.sums_are_far = blocking_.sums_are_far;
  first.fetches_sums = blocking_.fetches_sums;
  first.steps_together = blocking_.steps_together;
  first.fetches_near = blocking_.fetches_near;
  first.begins_at_pairs = blocking_.begins_at_pairs;
  first.multiply_adds_load = blocking_.multiply_adds_load;
  first.streams_sums = whole && blocking_.streams_sums;
  BlockTask next;
  bool finishes = whole;
  bool scaled = false;
  // Where there is nothing to multiply, no sums are collected and `finish` alone writes C.
  const bool collects = launch_.multiplies();
  if (!whole) {
    first.sum = slot(item, item.peer);
    first.sum_stride = padded_columns(tile.cols);
  } else if (collects && product_.sums_in_c()) {
    first.sum = const_cast<void*>(at(product_.c, tile.row, tile.col));
    first.sum_stride = product_.c.row_stride;
    first.sum_column = product_.sum_column();
    first.alpha = problem.alpha;
    first.beta = problem.beta;
    scaled = true;
    finishes = problem.epilogue != Epilogue{};
  } else if (collects &&
             (k_end - k_begin > 1 || product_.depth() > blocking_.step || blocking_.needs_sums())) {
    first.sum = sums;
    first.sum_stride = padded_columns(tile.cols);
  }
  next = first;
  next.beta = 1;

  const Finish finish = finish_of(tile, scaled);
  const int each = passes_of_block(blocking_, tile);
  std::int64_t from_row = first_pass % each * blocking_.rows;
  for (std::int32_t iteration = k_begin + first_pass / each; iteration < k_end; ++iteration) {
    multiply_block(item, tile, iteration, from_row, iteration == k_begin ? first : next, finish,
                   finishes && iteration + 1 == k_end);
    from_row = 0;
  }
  if (!whole) fix_up(item, tile);
}

// Rows of A over one block of k; `from` is where in the block the multiplication starts.
BlockOperand TileRunner::block_of_a(const WorkItem& item, const TileExtent& tile,
                                    std::int64_t iteration, std::int64_t depth, std::int64_t from,
                                    std::int64_t first_row, std::int64_t rows) {
  const KernelCode& code = *product_.code;
  const ConstMatrixView& a = product_.a;
  const std::int64_t k = iteration * product_.specs.a.block_cols;
  if (blocking_.a_in_place) {
    return {at(a, tile.row + first_row, k + from), true, a.row_stride, a.col_stride, 0};
  }
  const Held wanted{item.group, tile.row, iteration, first_row, rows};
  const bool is_held = held_a_ == wanted;
  held_a_ = wanted;
  const PackSource source{at(a, tile.row + first_row, k), rows, depth, a.row_stride, a.col_stride};
  if (blocking_.copied_stride > 0) {
    const int size = product_.copied_size_a();
    const std::int64_t stride = copied_stride(depth, size);
    if (!is_held) {
      const PackingTime packing(clock_);
      if (product_.widens_a()) {
        code.widen_rows(source, a_panels_);
      } else {
        copy_rows(source, size, stride, a_panels_);
      }
    }
    return {a_panels_ + from * size, true, stride, 1, 0};
  }
  if (!is_held) {
    const PackingTime packing(clock_);
    code.pack_a(source, a_panels_);
  }
  return {a_panels_ + from * code.mr * code.packed_size_a, false, 0, 0, code.panel_bytes_a(depth)};
}

// Columns of B over one block of k, packed unless they are held.
BlockOperand TileRunner::block_of_b(const TileExtent& tile, std::int64_t iteration,
                                    std::int64_t depth, std::int64_t from, std::int64_t first_col,
                                    std::int64_t cols, bool is_held) {
  const KernelCode& code = *product_.code;
  const ConstMatrixView& b = product_.b;
  const std::int64_t k = iteration * product_.specs.b.block_rows;
  if (product_.b_in_place) {
    return {at(b, k + from, tile.col + first_col), true, product_.along_stride_b(), b.row_stride,
            0};
  }
  if (blocking_.packs_by_pieces) {
    return {at(b, k, tile.col + first_col), true, b.col_stride, b.row_stride, 0};
  }
  if (product_.packed_b != nullptr) {
    const PackedLayout layout = packed_layout(code, product_.specs.b.block_rows, b.rows, b.cols);
    const auto* packed = static_cast<const unsigned char*>(product_.packed_b->data());
    return {packed + layout.offset(iteration, (tile.col + first_col) / code.nr,
                                   code.panel_bytes_b(depth)),
            false, 0, 0, code.panel_bytes_b(depth)};
  }
  unsigned char* panels = b_panels_;
  if (blocking_.keeps_b) panels += first_col / code.nr * code.panel_bytes_b(depth);
  if (!is_held) {
    const PackingTime packing(clock_);
    code.pack_b({at(b, k, tile.col + first_col), cols, depth, b.col_stride, b.row_stride}, panels);
  }
  return {panels, false, 0, 0, code.panel_bytes_b(depth)};
}

// What the blocks after this one are packed from, or read in place: the next piece of A, also of
// the next k-block, and while B is read for the first time its next columns. Fetching the panels
// that these will be packed to as well brings nothing (Zen 4, 2026-11: seven products of three
// types within 2 % either way).
void TileRunner::look_ahead(const WorkItem& item, const TileExtent& tile, std::int64_t k,
                            const Pieces& rows, const Pieces& cols, bool reads_b) {
  const std::int64_t block = std::min(product_.specs.a.block_cols, blocking_.step);
  const std::int64_t row = rows.first();
  const std::int64_t next_row = rows.after();
  const std::int64_t next_col = cols.after();
  const std::int64_t end_col = cols.end();
  const bool is_last_row = next_row >= rows.end();
  const std::int64_t next_k = k + block;
  const std::int64_t end_k = std::min(item.k_end * product_.specs.a.block_cols, product_.depth());
  const bool is_last_k = next_k >= end_k;
  const auto depth_at = [&](std::int64_t at) { return std::min(block, product_.depth() - at); };
  const auto rows_at = [&](std::int64_t at) {
    return std::min(blocking_.fetched_rows, tile.rows - at);
  };
  const auto cols_at = [&](std::int64_t at) {
    return std::min(blocking_.fetched_cols, tile.cols - at);
  };

  if (ahead_.run.step == 0) ahead_.run = {};
  // Beside the first columns, or where B is packed in passing, beside the last.
  ahead_.a_is_near = !cols.is_first();
  if (blocking_.passes ? next_col >= end_col : cols.is_first()) {
    ahead_.later = {};
    if (!is_last_row) {
      ahead_.later = far_rows(product_.a, tile.row + next_row, k, rows_at(next_row), depth_at(k));
    } else if (!is_last_k) {
      ahead_.later = far_rows(product_.a, tile.row + rows.begin(), next_k, rows_at(rows.begin()),
                              depth_at(next_k));
    }
  } else if (blocking_.passes) {
    ahead_.later = {};
  }
  ahead_.soon = {};
  if (product_.packed_b != nullptr) return;
  if (blocking_.passes) {
    // The next columns, or the first ones for the next rows or of the next k.
    const bool is_last_col = next_col >= end_col;
    if (is_last_col && is_last_row && is_last_k) return;
    const std::int64_t from = is_last_col && is_last_row ? next_k : k;
    const std::int64_t at = is_last_col ? cols.begin() : next_col;
    ahead_.soon = far_rows(product_.b, from, tile.col + at, depth_at(from), cols_at(at));
  } else if (product_.b_in_place) {
    // Each piece of A fetches its share of the next k-block. Parts of long rows are fetched by the
    // microkernel itself, shortly before it needs them: lines far ahead would drive each other out,
    // for all lie at the same place of their pages. Zen 4, 2026-11, f32 64×4096×4096 94 GFLOP/s
    // with them, and 103.
    if (is_last_k || !blocking_.fetches_b) return;
    const std::int64_t depth = depth_at(next_k);
    const std::int64_t from = depth * row / tile.rows;
    const std::int64_t to = depth * next_row / tile.rows;
    ahead_.soon = far_rows(product_.b, next_k + from, tile.col, to - from, tile.cols);
  } else if (reads_b && next_col < end_col) {
    ahead_.soon = far_rows(product_.b, k, tile.col + next_col, depth_at(k), cols_at(next_col));
  } else if (blocking_.fetches_panels && (next_col < end_col || !is_last_row)) {
    const KernelCode& code = *product_.code;
    const std::int64_t panel_bytes = code.panel_bytes_b(depth_at(k));
    const std::int64_t next = next_col < end_col ? next_col : cols.begin();
    const std::int64_t panels = (cols_at(next) + code.nr - 1) / code.nr;
    ahead_.soon = {b_panels_ + next / code.nr * panel_bytes, 0, panels * panel_bytes, 1};
  } else if (is_last_row && next_col >= end_col && !is_last_k) {
    const std::int64_t first = cols.begin();
    ahead_.soon = far_rows(product_.b, next_k, tile.col + first, depth_at(next_k), cols_at(first));
  }
}

// One MAC iteration of a tile.
void TileRunner::multiply_block(const WorkItem& item, const TileExtent& tile,
                                std::int64_t iteration, std::int64_t from_row, BlockTask task,
                                const Finish& finish, bool finishes) {
  const std::int64_t k = iteration * product_.specs.a.block_cols;
  const std::int64_t depth =
      launch_.multiplies() ? std::min(product_.specs.a.block_cols, product_.depth() - k) : 0;
  auto* sum = static_cast<unsigned char*>(task.sum);
  const std::int64_t sum_size = size_of(product_.code->accumulator);
  const Held wanted_b{item.group, tile.col, iteration, 0};
  const bool b_is_held = blocking_.keeps_b && held_b_ == wanted_b;
  const bool is_one_step = depth <= blocking_.step;
  const bool shares_rows = is_open_ && !blocking_.units_are_cols;
  const bool shares_cols = is_open_ && blocking_.units_are_cols;
  const auto streams = static_cast<std::int16_t>(sum != nullptr ? blocking_.streams : 0);
  task.rows_ahead = static_cast<std::int16_t>(sum != nullptr ? blocking_.rows_ahead : 0);
  const bool looks_ahead = depth > 0 && streams == 0 && !blocking_.needs_sums() &&
                           (is_one_step || blocking_.a_in_place) && !product_.is_dots;
  task.ahead = looks_ahead ? &ahead_ : nullptr;
  if (depth > 0 && (blocking_.passes || blocking_.packs_by_pieces)) {
    task.passing_panel = b_panels_;
    held_b_ = {};
  } else if (product_.code->room_bytes > 0) {
    task.passing_panel = room_;
  }

  for (std::int64_t from = 0; from == 0 || from < depth;
       from += std::max(task.depth, blocking_.step)) {
    task.depth = std::min(blocking_.step, depth - from);
    task.streams = depth - from >= streams ? streams : std::int16_t{0};
    // Whole groups of k at once.
    if (task.streams > 0) task.depth = (depth - from) / streams * streams;
    if (from > 0) task.beta = 1;
    const bool finishes_now = finishes && from + task.depth >= depth;
    Pieces rows = shares_rows ? next_pass() : Pieces(from_row, tile.rows, blocking_.rows);
    bool reads_b = !b_is_held;
    while (rows.next()) {
      const std::int64_t row = rows.first();
      task.rows = rows.count();
      if (reads_b && depth > 0 && !product_.b_in_place) {
        // Of shared columns others may pack some.
        held_b_ = blocking_.keeps_b && !shares_cols ? wanted_b : Held{};
      }
      // Shared columns are taken before rows of A are packed for them: nobody takes over what
      // another is only preparing for.
      Pieces cols = shares_cols ? next_pass() : Pieces(0, tile.cols, blocking_.cols);
      bool has_cols = cols.next();
      if (has_cols && depth > 0) {
        task.a = block_of_a(item, tile, iteration, depth, from, row, task.rows);
      }
      for (; has_cols; has_cols = cols.next()) {
        const std::int64_t col = cols.first();
        task.cols = cols.count();
        if (depth > 0) task.b = block_of_b(tile, iteration, depth, from, col, task.cols, !reads_b);
        if (sum != nullptr) {
          task.sum = sum + (row * task.sum_stride + col * task.sum_column) * sum_size;
        }
        const Finish block_finish = sub_block(finish, row, col);
        task.finish = finishes_now ? &block_finish : nullptr;
        if (looks_ahead) look_ahead(item, tile, k + from, rows, cols, reads_b);
        task.panels_ahead = reads_b ? blocking_.panels_ahead : 0;
        multiply(task);
      }
      reads_b = false;
    }
  }
}

void TileRunner::multiply(const BlockTask& task) const {
  const KernelCode& code = *product_.code;
  if (!blocking_.reads_near || task.depth == 0) return code.multiply(task);
  code.multiply_small(task);
  if (task.finish == nullptr) return;
  code.finish(*task.finish, task.sum, task.sum_stride, task.rows, task.cols);
}

void TileRunner::fix_up(const WorkItem& item, const TileExtent& tile) {
  clock_.multiplied();
  SplitTiles& splits = *launch_.splits;
  if (!splits.arrive(item)) return;
  add_strips(splits.open(item, worker_, strips_of(product_, tile, item.peers).count()), tile);
  clock_.wrote_tile();
}

void TileRunner::help(OpenSplit& open) {
  select(open.item().group);
  clock_.multiplied();
  add_strips(open, product_.extent(open.item()));
  clock_.wrote_tile();
}

// Strips of the tile, as long as there are any that nobody has taken.
void TileRunner::add_strips(OpenSplit& open, const TileExtent& tile) {
  const WorkItem& item = open.item();
  const Strips strips = strips_of(product_, tile, item.peers);
  const Finish finish = finish_of(tile, false);
  const std::int64_t stride = padded_columns(tile.cols);
  const std::int64_t size = size_of(product_.code->accumulator);
  for (int i = open.take(); i != OpenSplit::kNone; i = open.take()) {
    const TileExtent strip = strips.strip(i, tile);
    const std::int64_t first = strip.row * stride + strip.col;
    const auto part = [&](std::int32_t peer) { return slot(item, peer) + first * size; };
    for_each_addition(item.peers, [&](std::int32_t to, std::int32_t from) {
      add_rows(*product_.code, part(to), part(from), strip, stride);
    });
    product_.code->finish(sub_block(finish, strip.row, strip.col), part(0), stride, strip.rows,
                          strip.cols);
  }
}

}  // namespace tessera::cpu
