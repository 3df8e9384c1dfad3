#include "cpu/direct.hpp"

#include <algorithm>
#include <atomic>

#include "core/alike.hpp"
#include "core/in_place_rule.hpp"
#include "core/near_rule.hpp"
#include "core/orientation_rule.hpp"
#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/blocking.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/claims.hpp"
#include "cpu/copied_rows.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/product.hpp"
#include "cpu/rows_of_a.hpp"
#include "cpu/steps.hpp"
#include "cpu/threads.hpp"

namespace tessera::cpu {
namespace {

// A thread takes runs of products of about this many flops from a group's list, some 10 µs: far
// more than taking one costs, and little enough that all threads end together.
constexpr double kFlopsPerRun = 1 << 20;

// Whether tile registers walk it by strips of A beside a packed B: those pay where C leaves the
// nearest cache. Granite Rapids, one thread, 2026-11, the time by panels over the time by strips,
// bf16 355×342×16 1.84, 507×104×32 1.28, 200×64×64 1.20, 128³ 1.05, i8 200×64×64 1.14, 128³ 1.04,
// but 96³ 0.85, 128×64×128 0.89.
bool walks_strips(const Plan& plan, const Product& product) {
  const std::int64_t c_bytes = product.c.rows * product.c.cols * size_of(product.code->accumulator);
  return product.code->rows_together > 0 && !product.b_in_place &&
         leaves_nearest(c_bytes, plan.machine.l1_bytes);
}

// Whether wide registers write a C of small elements that leaves the nearest cache row by row, as
// Intel's had better. Emerald Rapids, one thread, 2026-11, 40 random products with k up to 32, the
// time by panels of columns over the time so, operands in rows, B along k, A across: i8 1.08, 1.06,
// 1.08 (36×519×13 1.9, 16×994×25 1.3, 1643×40×14 1.1), bf16 1.03, 1.01, 1.03; but f32 and f64 0.97
// to 0.99. AMD's were not measured.
bool walks_rows_of_small(const FacedSizes& sizes, const Plan& plan) {
  const double c_bytes = sizes.rows * sizes.cols * sizes.sum_bytes;
  return has_two_units() && !is_narrow_tile(sizes.tile.mr) && sizes.element_bytes < 4 &&
         sizes.depth <= kShortDepth && c_bytes >= static_cast<double>(plan.machine.l1_bytes);
}

// Whether small register tiles go row by row of them and fetch their sums first: with so few steps
// of k most of the time is waiting for lines of C, where that leaves the nearest cache and several
// tiles make a row. Emerald Rapids, one thread, 2026-11-29, 72 products of 16 to 2000 rows, 32 to
// 3000 columns and a C of 48 KB to 9 MB, some of which wide tiles write (steps.cpp), the
// time before over the time so, k of 1, 2, 3 and 4: f32 1.28, 1.30, 1.28, 1.26, f64 1.24, 1.22,
// 1.21, 1.17; with k of 6 and 8 0.6 to 1.5. Widened f16, by panels of columns not fetched over so,
// k = 2, 128×700 1.57, 256×1500 1.84, 200×100×4 1.27. Other Intel processors were not measured, nor
// AMD's, which are left alone.
bool fetches_sums_of_few_steps(const FacedSizes& sizes, const Plan& plan) {
  constexpr double kMostSteps = 4;
  constexpr double kLeastRowBytes = 256;
  const double row_bytes = sizes.cols * sizes.sum_bytes;
  return has_two_units() && !is_narrow_tile(sizes.tile.mr) && sizes.depth <= kMostSteps &&
         row_bytes > kLeastRowBytes &&
         row_bytes * sizes.rows >= static_cast<double>(plan.machine.l1_bytes);
}

bool passes_the_short_way(const Plan& plan, const Product& product) {
  const std::int64_t b_row_bytes = product.b.row_stride * size_of(product.b.type);
  return may_pack_in_passing(product) &&
         suits_passing_short_way(plan.machine, faced_block(product), b_row_bytes);
}

// The products of a group one after another, each with its form, which is worked out where it
// differs from the one before.
class FormWalk {
 public:
  FormWalk(const Plan& plan, const KernelCode& code, std::span<const Operands> groups)
      : plan_(plan), code_(code), groups_(groups) {}

  // Null where the product must go the general way. Indices in any order.
  const DirectForm* at(std::size_t index) {
    const bool known = form_.has_value() && differ_in_addresses_alone(groups_[index], *like_) &&
                       begins_alike(*form_, groups_[index]);
    if (!known) {
      form_ = direct_form(plan_, code_, groups_[index]);
      like_ = &groups_[index];
    }
    return form_.has_value() ? &*form_ : nullptr;
  }

 private:
  const Plan& plan_;
  const KernelCode& code_;
  std::span<const Operands> groups_;
  const Operands* like_ = nullptr;
  std::optional<DirectForm> form_;
};

const void* packed_operand(const DirectForm::Packing& packing, const void* data, void* panels) {
  PackSource source = packing.source;
  source.data = data;
  if (packing.widen != nullptr) {
    packing.widen(source, packing.stride, panels);
  } else if (packing.pack != nullptr) {
    packing.pack(source, panels);
  } else {
    return data;
  }
  return panels;
}

// Floats that lie as `source` does: lines begin at cache lines, and keep apart in the nearest
// cache, but short ones without gaps stay without.
struct CopyOfLines {
  std::int64_t stride = 0;
  std::size_t bytes = 0;  // with those that widening writes behind it
};

CopyOfLines copy_of(const PackSource& source) {
  constexpr std::int64_t kFloats = kCacheLine / size_of(ElementType::f32);
  constexpr std::int64_t kCollidingLines = 8;
  const Lines lines = lines_of(source);
  const bool is_short = lines.length < kFloats && lines.step == 1 && lines.next == lines.length;
  std::int64_t cache_lines = (lines.length + kFloats - 1) / kFloats;
  if (cache_lines % kCollidingLines == 0) ++cache_lines;
  const std::int64_t stride = is_short ? lines.length : cache_lines * kFloats;
  return {stride, line_up(lines.count * stride * size_of(ElementType::f32)) + kCacheLine};
}

// `operand` is read from a copy.
void widen_first(const PackSource& source, const KernelCode& kernel, DirectForm::Packing& packing,
                 BlockOperand& operand) {
  const CopyOfLines copy = copy_of(source);
  packing = {nullptr, source, copy.bytes, kernel.widen_lines, copy.stride};
  const bool is_along_k = lies_along_k(source);
  operand = {nullptr, true, is_along_k ? copy.stride : 1, is_along_k ? 1 : copy.stride};
}

// `task` is the first block of k's.
void multiply_blocks(const DirectForm& form, BlockTask task) {
  const auto* a = static_cast<const unsigned char*>(task.a.data);
  const auto* b = static_cast<const unsigned char*>(task.b.data);
  for (std::int64_t left = form.depth; left > 0; left -= task.depth) {
    task.depth = std::min(task.depth, left);
    task.a.data = a;
    task.b.data = b;
    form.multiply(task);
    task.beta = 1;
    a += form.next_a;
    b += form.next_b;
  }
}

// Whether workers on both sides of a cut between such rows or columns write the same lines of C,
// all `along` it; by strides alone, as if C and parts of it began at a line.
bool shares_lines(const DirectForm::Side& cut, const DirectForm::Side& along) {
  constexpr std::int64_t kLine = kCacheLine;
  return cut.c_bytes < along.c_bytes && cut.c_bytes < kLine && along.c_bytes % kLine != 0;
}

}  // namespace

Share share_of(const DirectForm& form, int workers) {
  constexpr std::int64_t kColumnsForEachRow = 4;
  constexpr std::int64_t kPackedForEachRow = 1;  // by every worker
  constexpr std::int64_t kPartsOfUnevenStrips = 2;
  if (form.keeps_columns_apart) {
    const std::int64_t cols = size_of_part(form.task.cols, workers, form.columns.tile);
    if (cols > 0) return {cols, true};
  }
  const std::int64_t rows = size_of_part(form.task.rows, workers, form.rows.tile);
  if (form.keeps_rows_whole || (rows > 0 && form.fetches_rows)) return {rows, false};
  if (shares_lines(form.columns, form.rows)) {
    if (form.strip_rows > 0) {
      const std::int64_t strips =
          size_of_part(form.task.rows, workers, form.strip_rows, kPartsOfUnevenStrips);
      const bool are_all_at_work = strips * (workers - 1) < form.task.rows;
      if (strips > 0 && are_all_at_work) return {strips, false};
    }
    const std::int64_t most = form.b.bytes > 0 ? kPackedForEachRow : kColumnsForEachRow;
    const bool are_many = most * form.task.rows >= form.task.cols;
    if (rows > 0 && are_many) return {rows, false};
  }
  const std::int64_t cols = size_of_part(form.task.cols, workers, form.columns.tile);
  return cols > 0 ? Share{cols, true} : Share{rows, false};
}

namespace {

// A product whose columns or rows can be dealt nearly evenly. Workers of a plan would do the
// same, but take longer to find out what: of 64³ on two threads, 0.3 of 3.7 µs (Zen 4, f32,
// 2026-11).
bool run_in_parts(const DirectForm& form, const Operands& operands, int workers, int threads) {
  const auto [each, of_columns] = share_of(form, workers);
  if (each == 0) return false;
  const std::int64_t all = of_columns ? form.task.cols : form.task.rows;
  const std::size_t bytes = form.buffer_bytes;
  if (bytes > 0 && thread_panels().reserve(bytes) == nullptr) return false;
  const auto count = static_cast<std::int32_t>((all + each - 1) / each);
  share_out(count, threads, bytes, [&, each = each, of_columns = of_columns](Claims& parts, void*) {
    std::int32_t part = parts.first();
    for (; part != Claims::kNone; part = parts.next(part)) {
      const std::int64_t first = part * each;
      multiply_part(form, operands, of_columns, first, std::min(each, all - first));
    }
  });
  return true;
}

// Whether a range decides how a panel's elements are multiplied, so that bits depend on which rows
// and columns are a panel.
bool keeps_ranges(const KernelCode& kernel) {
  return kernel.panel_extra_a > 0;
}

// Whether other panels are the plan's blocks' than the product's.
bool cuts_panels(const Product& product) {
  const KernelCode& kernel = *product.code;
  const std::int64_t rows = product.block_rows();
  const std::int64_t cols = product.block_cols();
  return (rows < product.c.rows && rows % kernel.mr != 0) ||
         (cols < product.c.cols && cols % kernel.nr != 0);
}

}  // namespace

bool multiply_at_length(const DirectForm& form, const Operands& operands) {
  unsigned char* buffer = nullptr;
  if (form.buffer_bytes > 0) {
    buffer = static_cast<unsigned char*>(thread_panels().reserve(form.buffer_bytes));
    if (buffer == nullptr) return false;
  }
  BlockTask task = form.task;
  const void* a = form.turned ? operands.b.data : operands.a.data;
  const void* b = form.turned ? operands.a.data : operands.b.data;
  task.a.data = packed_operand(form.a, a, buffer);
  task.b.data = packed_operand(form.b, b, buffer + form.a.bytes);
  if (form.passes) task.passing_panel = buffer + form.a.bytes;
  if (form.finish == nullptr) {
    task.sum = operands.c.data;
    multiply_blocks(form, task);
    return true;
  }
  Finish finish;
  finish.alpha = task.alpha;
  finish.beta = task.beta;
  finish.c = operands.c.data;
  finish.row_stride = form.c_row_stride;
  finish.col_stride = form.c_col_stride;
  finish.c_type = form.c_type;
  task.sum = buffer + form.a.bytes + form.b.bytes;
  task.alpha = 1;
  task.beta = 0;
  multiply_blocks(form, task);
  form.finish(finish, task.sum, task.sum_stride, task.rows, task.cols);
  return true;
}

std::optional<DirectForm> direct_form(const Plan& plan, const KernelCode& code,
                                      const Operands& operands) {
  const bool is_one_pass = plan.tile.block_k >= operands.a.cols;
  const bool is_plain = plan.problem.alpha != 0 && plan.problem.epilogue == Epilogue{} &&
                        operands.packed_b == nullptr;
  const bool divides_k = plan.schedule.kind != ScheduleKind::data_parallel;
  if (!is_plain || (!is_one_pass && divides_k)) return std::nullopt;
  DirectForm form;
  if (operands.c.rows == 0 || operands.c.cols == 0) {
    form.multiply = code.multiply;
    return form;
  }
  if (operands.a.cols == 0) return std::nullopt;

  const Product product = product_of(operands, plan, code);
  if (product.code->room_bytes > 0) return std::nullopt;
  if (keeps_ranges(*product.code) && cuts_panels(product)) return std::nullopt;
  FacedSizes sizes = faced_sizes(product, product.c.rows, product.c.cols);
  const std::int64_t l2 = plan.machine.scratchpad_bytes;
  const std::int64_t b_row_bytes = product.b.row_stride * size_of(product.b.type);
  const PlacesInMemory places = places_of(product);
  const bool reads_lines = may_pack_in_passing(product) && places.b_begins_at_lines;
  const bool is_short = is_one_pass && goes_short_way(plan.machine, sizes, reads_lines);
  // The product, and the blocks that its plan was made for.
  const bool is_near =
      !is_short && tessera::reads_near(plan.machine, sizes, places) && reads_near(plan, product);
  if (!is_short && !is_near) return std::nullopt;
  const bool collides = is_short && passes_the_short_way(plan, product);
  form.passes = collides && !reads_lines;
  PlacesInMemory off_lines = places;
  off_lines.b_begins_at_lines = false;
  const bool reads_anywhere = (is_one_pass && suits_short_way(sizes, l2)) ||
                              (is_near && tessera::reads_near(plan.machine, sizes, off_lines));
  if (begin_at_lines(b_row_bytes) && (collides || !reads_anywhere)) {
    form.line_bits = kCacheLine - 1;
  }
  const Step step = product.widens_whole ? Step{product.block_depth()} : step_of(plan, product);
  if (step.depth < product.block_depth()) return std::nullopt;
  const KernelCode& kernel = *product.code;
  const bool is_wide = step.rows_ahead > 0;
  const bool is_small_kernels =
      product.widens_whole ||
      (product.a_in_place && !product.is_dots && kernel.multiply_small != nullptr && !is_wide);
  form.multiply = is_small_kernels ? kernel.multiply_small : kernel.multiply;
  form.turned = product.turned;
  form.is_large = is_near;
  form.flops = 2.0 * static_cast<double>(product.c.rows) * static_cast<double>(product.c.cols) *
               static_cast<double>(product.depth());
  form.task.rows = product.c.rows;
  form.task.cols = product.c.cols;
  form.task.depth = product.block_depth();
  form.depth = product.depth();
  if (!is_one_pass) {
    form.next_a = form.task.depth * product.a.col_stride * size_of(product.a.type);
    form.next_b = form.task.depth * b_row_bytes;
  }
  form.task.a = {nullptr, true, product.a.row_stride, product.a.col_stride};
  form.task.b = {nullptr, true, product.along_stride_b(), product.b.row_stride};
  const bool by_pieces = packs_by_pieces(plan, product);
  form.task.tile_rows = static_cast<std::int16_t>(tile_rows_of(plan, product, by_pieces));
  const auto source_a = [&]() -> PackSource {
    return {nullptr, product.a.rows, product.a.cols, product.a.row_stride, product.a.col_stride};
  };
  form.task.rows_ahead = static_cast<std::int16_t>(step.rows_ahead);
  form.keeps_rows_whole = step.goes_along_rows && !may_cut_written_rows(plan.machine);
  const bool by_strips = !by_pieces && walks_strips(plan, product);
  if (product.widens_whole) sizes.element_bytes = kernel.packed_size_a;
  const bool fetches_few =
      is_small_kernels && product.sums_in_c() && fetches_sums_of_few_steps(sizes, plan);
  const bool by_rows = fetches_few || walks_rows(sizes, l2) || walks_rows_of_small(sizes, plan);
  form.task.sums_are_far = step.goes_along_rows || by_strips || (!product.is_dots && by_rows);
  form.fetches_rows = fetches_few || step.fetches_sums;
  form.task.fetches_sums = form.fetches_rows || (by_strips && fetches_rows_of_c(plan, product));
  if (product.widens_whole) {
    widen_first(source_a(), kernel, form.a, form.task.a);
  } else if (product.widens_a() || (product.is_dots && !product.a_in_place)) {
    const int size = product.copied_size_a();
    const std::int64_t stride = copied_stride(product.depth(), size);
    const CopyRows copy = product.widens_a() ? kernel.widen_rows : row_copier(size);
    form.a = {copy, source_a(), line_up(product.c.rows * stride * size)};
    form.task.a = {nullptr, true, stride, 1};
  } else if (form.task.tile_rows == 0 && !is_wide) {
    const std::int64_t panel_bytes = kernel.panel_bytes_a(product.depth());
    const std::int64_t panels = (product.c.rows + kernel.mr - 1) / kernel.mr;
    form.a = {kernel.pack_a, source_a(), line_up(panels * panel_bytes)};
    form.task.a = {nullptr, false, 0, 0, panel_bytes};
  }
  const PackSource source_b{nullptr, product.b.cols, product.b.rows, product.b.col_stride,
                            product.b.row_stride};
  if (product.widens_whole && product.b_in_place && !lies_along_k(source_b)) {
    widen_first(source_b, kernel, form.b, form.task.b);
  } else if (by_pieces) {
    form.passes = true;
    const std::int64_t c_row_bytes = product.c.row_stride * size_of(product.c.type);
    form.keeps_columns_apart =
        deals_columns_by_pieces(product.c.rows, product.depth(), c_row_bytes & -c_row_bytes);
    form.b.bytes = line_up(kernel.panel_bytes_b(kernel.piece_depth));
  } else if (product.widens_whole || !product.b_in_place) {
    const std::int64_t panel_bytes = kernel.panel_bytes_b(product.depth());
    const std::int64_t panels = (product.c.cols + kernel.nr - 1) / kernel.nr;
    form.b = {kernel.pack_b, source_b, line_up(panels * panel_bytes)};
    form.task.b = {nullptr, false, 1, kernel.nr, panel_bytes};
  }
  if (form.passes && !by_pieces) {
    form.multiply = kernel.multiply;
    form.task.multiply_adds_load = has_spare_loads();
    form.b.bytes = line_up(kernel.panel_bytes_passing(product.depth()));
  }
  std::size_t sum_bytes = 0;
  if (!product.sums_in_c()) {
    form.task.sum_stride = padded_columns(product.c.cols);
    sum_bytes = line_up(product.c.rows * form.task.sum_stride * size_of(kernel.accumulator));
    form.finish = kernel.finish;
    form.c_row_stride = product.c.row_stride;
    form.c_col_stride = product.c.col_stride;
    form.c_type = product.c.type;
  } else {
    form.task.sum_stride = product.c.row_stride;
    form.task.sum_column = product.sum_column();
  }
  const std::size_t packed_bytes = form.a.bytes + form.b.bytes;
  const auto most_bytes = static_cast<std::size_t>(short_way_bytes({kernel.mr, kernel.nr}, l2));
  // Plans leave the padding of copies' lines as much room again (plan/cpu_in_place.cpp).
  const std::size_t most_packed = product.widens_whole ? static_cast<std::size_t>(l2) : most_bytes;
  if (packed_bytes > most_packed || sum_bytes > most_bytes) return std::nullopt;
  form.buffer_bytes = packed_bytes + sum_bytes;
  form.is_one_call = is_one_pass && form.buffer_bytes == 0;
  form.columns = {kernel.nr, product.b.col_stride * size_of(product.b.type),
                  product.c.col_stride * size_of(product.c.type)};
  form.rows = {rows_of_part(kernel.mr, is_small_kernels && !form.passes, plan.machine),
               product.a.row_stride * size_of(product.a.type),
               product.c.row_stride * size_of(product.c.type)};
  // Rows of a strip whose range is kept stay together on any number of threads, for their bits.
  const bool divides_strips = !keeps_ranges(kernel);
  if (has_tile_registers({kernel.mr, kernel.nr}) && divides_strips) form.strip_rows = kernel.mr / 2;
  form.task.alpha = plan.problem.alpha;
  form.task.beta = plan.problem.beta;
  return form;
}

bool run_directly(const Plan& plan, const KernelCode& code, std::span<const Operands> groups,
                  int threads) {
  if (groups.size() == 1) {
    const std::optional<DirectForm> form = direct_form(plan, code, groups.front());
    if (!form) return false;
    if (threads == 1) return multiply_directly(*form, groups.front());
    return run_in_parts(*form, groups.front(), plan.schedule.workers, threads);
  }

  FormWalk check(plan, code, groups);
  double flops = 0;
  double largest = 0;  // of those that are worth dividing
  std::size_t buffer_bytes = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const DirectForm* form = check.at(i);
    if (form == nullptr) return false;
    flops += form->flops;
    if (form->is_large) largest = std::max(largest, form->flops);
    buffer_bytes = std::max(buffer_bytes, form->buffer_bytes);
  }
  // Whole products are dealt, of which one may be more than a thread's share.
  if (largest * threads > flops) return false;
  const auto has_memory = [&] {
    return buffer_bytes == 0 || thread_panels().reserve(buffer_bytes) != nullptr;
  };
  if (!has_memory()) return false;
  const std::size_t runs = std::max<std::size_t>(1, static_cast<std::size_t>(flops / kFlopsPerRun));
  const std::size_t length = (groups.size() + runs - 1) / runs;
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    // The caller's thread has its memory; one that gets none leaves its work to the others.
    if (!has_memory()) return;
    FormWalk forms(plan, code, groups);
    for (;;) {
      const std::size_t begin = next.fetch_add(length, std::memory_order_relaxed);
      if (begin >= groups.size()) return;
      const std::size_t end = std::min(begin + length, groups.size());
      for (std::size_t i = begin; i < end; ++i) multiply_directly(*forms.at(i), groups[i]);
    }
  };
  on_threads(threads, work);
  return true;
}

}  // namespace tessera::cpu
