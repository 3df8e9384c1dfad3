// What run.cpp knows of a microkernel: its register tile, its packed layout, and four functions.
// Every instruction set compiles the same templates (microkernel.hpp, pack.hpp, finish.hpp) in a
// translation unit and a namespace of its own (isa_*.cpp); kernels.cpp lists the results by name.
//
// All of this speaks of one orientation: C's rows are walked by m, its columns lie in vectors along
// n. run.cpp turns a product round (Cᵀ = Bᵀ·Aᵀ) where that suits its layout.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/in_place_rule.hpp"
#include "cpu/cache_line.hpp"
#include "tessera/problem.hpp"

namespace tessera::cpu {

// A block of A or B in the caller's memory. `along` runs along m (A) or n (B). Strides in elements.
struct PackSource {
  const void* data = nullptr;
  std::int64_t along = 0;
  std::int64_t depth = 0;
  std::int64_t along_stride = 0;
  std::int64_t depth_stride = 0;
};

namespace {

// The same as lines of elements: rows or columns along k, where those are dense or nothing is, or
// else along m or n.
struct Lines {
  std::int64_t count = 0;
  std::int64_t length = 0;
  std::int64_t next = 0;  // elements from one line to the next
  std::int64_t step = 0;  // and within one
};

inline bool lies_along_k(const PackSource& source) {
  return source.depth_stride == 1 || source.along_stride != 1;
}

inline Lines lines_of(const PackSource& source) {
  if (lies_along_k(source)) {
    return {source.along, source.depth, source.along_stride, source.depth_stride};
  }
  return {source.depth, source.along, source.depth_stride, source.along_stride};
}

}  // namespace

// An operand as a microkernel reads it: packed panels one after another, or in place.
struct BlockOperand {
  const void* data = nullptr;
  bool in_place = false;
  // In elements; in place only. B's rows are dense (along_stride is 1), or else its columns (0 of a
  // single one), and then A's rows are too, and both of the caller's type
  // (KernelCode::multiplies_dots).
  std::int64_t along_stride = 0;
  std::int64_t depth_stride = 0;
  std::int64_t panel_bytes = 0;  // from one packed panel to the next
};

namespace {

// A packed panel by its number.
inline const unsigned char* panel_of(const BlockOperand& operand, std::int64_t number) {
  return static_cast<const unsigned char*>(operand.data) + number * operand.panel_bytes;
}

}  // namespace

// How sums become C: C ← activation(alpha·sum + beta·C + bias), converted to C's type.
struct Finish {
  double alpha = 1;
  double beta = 0;
  void* c = nullptr;  // element (0, 0) of the block
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  ElementType c_type = ElementType::f32;
  BiasAxis bias_axis = BiasAxis::none;
  const void* bias = nullptr;  // of the block's first row or column
  std::int64_t bias_stride = 0;
  ElementType bias_type = ElementType::f32;
  Activation activation = Activation::none;
};

namespace {

// The part of the block that starts at (row, col). Internal linkage, because units of different
// instruction sets compile it: no linker may fold them.
inline Finish sub_block(const Finish& finish, std::int64_t row, std::int64_t col) {
  Finish sub = finish;
  const std::int64_t offset = row * finish.row_stride + col * finish.col_stride;
  sub.c = static_cast<unsigned char*>(finish.c) + offset * size_of(finish.c_type);
  if (finish.bias_axis != BiasAxis::none) {
    const std::int64_t along = finish.bias_axis == BiasAxis::row ? row : col;
    sub.bias = static_cast<const unsigned char*>(finish.bias) +
               along * finish.bias_stride * size_of(finish.bias_type);
  }
  return sub;
}

}  // namespace

// Cache lines one after another, of which the next is fetched in each step of k.
struct LineRun {
  const unsigned char* next = nullptr;
  std::int64_t step = 0;  // bytes
  std::int64_t left = 0;  // lines
};

// Part of a matrix that is needed soon and lies far away: the rows that are not fetched yet.
struct FarRows {
  const unsigned char* next = nullptr;
  std::int64_t stride = 0;  // bytes
  std::int64_t bytes = 0;   // of each
  std::int64_t left = 0;
};

// What the next blocks are packed from, or multiplied with where it lies, in the order of need; and
// the row that is being fetched.
struct LookAhead {
  LineRun run;
  FarRows soon;
  FarRows later;
  bool a_is_near = false;  // columns before have read it
};

namespace {

// The next row's lines, of which one that starts off a line has one more: without it 384×384×3000
// in f32 made 98 GFLOP/s instead of 102 (operands 16 bytes off a line, Zen 4, 2026-11). Behind the
// last, the same lines again and again.
[[gnu::always_inline]] inline LineRun next_run(LookAhead& ahead, const void* near) {
  FarRows& rows = ahead.soon.left > 0 ? ahead.soon : ahead.later;
  if (rows.left == 0) return {static_cast<const unsigned char*>(near), 0, std::int64_t{1} << 40};
  constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);
  const auto in_line =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.next) % kLine);
  const LineRun run{rows.next - in_line, kLine, (in_line + rows.bytes + kLine - 1) / kLine};
  rows.next += rows.stride;
  --rows.left;
  return run;
}

// `Locality`: __builtin_prefetch's, 3 for the nearest cache and 2 for the second. Of several lines
// the last ones may be behind the row's.
template <int Locality, int Lines>
[[gnu::always_inline]] inline void fetch_lines(LineRun& run, LookAhead& ahead, const void* near) {
  constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);
#pragma GCC unroll 4
  for (int line = 0; line < Lines; ++line) {
    __builtin_prefetch(run.next + line * kLine, 0, Locality);
  }
  run.next += Lines * run.step;
  run.left -= Lines;
  if (run.left <= 0) run = next_run(ahead, near);
}

}  // namespace

// A short k: so many groups of it (KernelCode::depth_step) at most. With a longer one a register
// tile has time to fetch its sums in passing.
constexpr std::int64_t kShortGroups = 128;

// A large B in place comes as so many of its rows side by side, each a stream that the processor's
// prefetching follows (streams.hpp): few on AMD's processors, kManyStreams on Intel's.
constexpr int kFewStreams = 8;

// sum (rows × cols, row-major) ← alpha·A·B + beta·sum, then `finish` where there is one. It is
// copied for each small product, and eight bytes more make 8×8×8 in f64 8 % slower (Zen 5,
// 2026-11): hence the short integers.
struct BlockTask {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t depth = 0;
  BlockOperand a;
  BlockOperand b;
  // Of the accumulator's type; C itself or a buffer. Null (with `finish`): a register tile at a
  // time goes straight to `finish`.
  void* sum = nullptr;
  std::int64_t sum_stride = 0;
  // From one column to the next; another only of dot products.
  std::int32_t sum_column = 1;
  // Of A in place, that register tiles take at a time; 0: all that they hold.
  std::int16_t tile_rows = 0;
  // Register tiles come row by row of them, not column by column; those that are not wide, nor
  // tall, fetch all of a tile's sums first. Only where `depth` is short, or B's block near tile
  // registers (Blocking).
  bool sums_are_far = false;
  // Rows of sums are fetched before they are stored, or read: of tile registers
  // (fetches_rows_of_c), and of wide tiles and small_kernel.hpp's that write C from end to end.
  bool fetches_sums = false;
  // Packed panels are read several steps of k at a time, where there is code for it: fewer
  // instructions, the same bits.
  bool steps_together = false;
  // Where B is packed in passing, what comes next is fetched into the nearest cache, not the
  // second. So on AMD's processors: Zen 5, f32, one thread, 2026-11, per cent of the peak in the
  // second and in the nearest, the best and the median of 11 turns: 128×128×32768 90.8, 92.6
  // and 85.2, 91.5; 192×192×16384 91.8, 92.4 and 87.7, 91.0. On an Emerald Rapids level, and 2 to 8
  // % longer while others were on the core.
  bool fetches_near : 1 = false;
  // Beside a B in place, register tiles of two lines begin where a pair of lines does in C: a
  // processor fetches lines by pairs, and C of a large allocation, behind its header, begins at the
  // second of one. Zen 4, one thread, 2026-11, the time otherwise over the time so: f64
  // 40×7168×2048 1.28, 40×4096×4096 1.31, 64×7168×2048 1.23, 128×7168×2048 1.11, 80×3072×768 1.13,
  // 40×4128×2048 1.13; f32, where B's rows begin so, too, 8 of 64×7168×2048 1.15, 8 of 64×4096×4096
  // 1.16; up to 32 rows, which are left alone, and n up to 1000, level; so are elements that are
  // interleaved. Emerald Rapids level.
  bool begins_at_pairs : 1 = false;
  // Where several steps of packed panels go together, or B is packed in passing, multiply-adds load
  // every other row's element of A themselves (has_spare_loads).
  bool multiply_adds_load : 1 = false;
  // Sums that are final go past the caches, where there is code for it: they are written once, to a
  // C that no near cache holds.
  bool streams_sums = false;
  bool b_is_far = false;  // in memory: few streams and dot products fetch it ahead
  // Packed panels of B come from beyond the second-level cache, and are fetched so many bytes ahead
  // of what is multiplied; 0: they are not.
  std::int32_t panels_ahead = 0;
  // kFewStreams or kManyStreams where `depth` is a multiple of that; 0: B does not come as streams.
  std::int16_t streams = 0;
  // Rows of a B in place that few rows of A, in place too, fetch ahead where they walk it by wide
  // tiles (wide_tiles.hpp), with a `sum`; 0: they do not.
  std::int16_t rows_ahead = 0;
  // Room for a panel of B that is packed in passing (passing.hpp), KernelCode::panel_bytes_passing,
  // or for a piece of it of tile registers; null: none is. Of theirs B is in place then, at any
  // strides; else both operands, and their rows are dense. Of f64 by residues room for remainders
  // (KernelCode::room_bytes).
  void* passing_panel = nullptr;
  double alpha = 1;
  double beta = 0;  // 0 does not read the sum
  const Finish* finish = nullptr;
  LookAhead* ahead = nullptr;  // fetched while this is multiplied; some instruction sets do not
};

struct KernelCode {
  std::string_view name;
  int mr = 0;
  int nr = 0;
  int depth_step = 1;     // packed panels are padded with zeros to a multiple of this depth
  int short_step_b = 0;   // and B's that are less deep to a multiple of this; 0: as the others
  int packed_size_a = 0;  // bytes of a packed element
  int packed_size_b = 0;
  int panel_extra_a = 0;  // bytes that follow each panel of A (the range of its elements)
  int panel_extra_b = 0;  // and of B (the same, or column sums of signed operands)
  // Panels say where their elements are, which may be read again.
  bool refers_to_elements = false;
  bool reads_in_place = false;
  // A's rows along k are read in place or copied where they are whole groups (depth_step) and B is
  // packed, or needs no grouping; and whether they may end in a part of a group, behind a whole
  // one (those of tile registers: rows_of_a.cpp).
  bool keeps_rows = false;
  bool ends_rows = false;
  bool packing_copies_rows = false;  // so that they are not copied otherwise
  // Register tiles of so many of those rows are nearly as fast as of `mr`; 0: there are none.
  int few_rows = 0;
  // A's piece has so many rows, as long as they take half of the second-level cache at most; 0:
  // any.
  int rows_together = 0;
  int cols_together = 0;         // and B's so many columns, but in shared tiles; 0: any
  std::int64_t room_bytes = 0;   // of BlockTask::passing_panel, where no panel is packed in passing
  bool interleaves = false;      // reads B's rows in place where they are dense; A is packed
  bool widens = false;           // the same, or has widened A's rows before (widen_rows)
  bool multiplies_dots = false;  // reads both in place where both lie along k
  int passing_cols = 0;          // of a panel that is packed in passing; 0: none is
  int piece_depth = 0;           // of k, of which a panel is packed in passing; 0: none is
  // Up to so many rows of A multiply a large B in place as few streams, and as many; 0: none do.
  std::int64_t few_stream_rows = 0;
  std::int64_t many_stream_rows = 0;
  std::int64_t wide_rows = 0;  // and by wide tiles
  // Up to so many rows meet several packed panels at a time (wide_tiles.hpp); 0: none do.
  std::int64_t panel_rows = 0;
  ElementType accumulator = ElementType::f32;
  // For Cᵀ = Bᵀ·Aᵀ where A and B are not treated alike; null: itself.
  const KernelCode* turned = nullptr;

  void (*pack_a)(const PackSource& source, void* panels) = nullptr;
  void (*pack_b)(const PackSource& source, void* panels) = nullptr;
  // A's rows as packed elements along k, copied_rows.hpp's copied_stride() apart, beside a B in
  // place. Null where there are none, or groups of them are packed.
  void (*widen_rows)(const PackSource& source, void* to) = nullptr;
  // An operand as packed elements that lie as its own do, in lines (lines_of) so many elements
  // apart, which multiply_small reads in place. Null but of f16 and bf16 that vectors widen.
  void (*widen_lines)(const PackSource& source, std::int64_t stride, void* to) = nullptr;
  void (*multiply)(const BlockTask& task) = nullptr;
  // The same for what stays near: A in place, B too or packed, with a `sum`; it leaves `finish` to
  // the caller. Null where nothing is read in place, nor widened so.
  void (*multiply_small)(const BlockTask& task) = nullptr;
  // sum += other, over `count` accumulators.
  void (*add)(void* sum, const void* other, std::int64_t count) = nullptr;
  void (*finish)(const Finish& finish, const void* sum, std::int64_t sum_stride, std::int64_t rows,
                 std::int64_t cols) = nullptr;

  std::int64_t padded(std::int64_t depth) const {
    return (depth + depth_step - 1) / depth_step * depth_step;
  }
  std::int64_t padded_b(std::int64_t depth) const {
    if (short_step_b == 0 || depth >= depth_step) return padded(depth);
    return (depth + short_step_b - 1) / short_step_b * short_step_b;
  }
  std::int64_t panel_bytes_a(std::int64_t depth) const {
    return padded(depth) * mr * packed_size_a + panel_extra_a;
  }
  std::int64_t panel_bytes_b(std::int64_t depth) const {
    return padded_b(depth) * nr * packed_size_b + panel_extra_b;
  }
  std::int64_t panel_bytes_passing(std::int64_t depth) const {
    return depth * passing_cols * packed_size_b;
  }
};

// The code behind a row of the catalogue, whether or not this processor runs it; null where this
// build has none.
const KernelCode* find_code(std::string_view name);

}  // namespace tessera::cpu
