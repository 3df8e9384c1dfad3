// The short way for small products: operands read where they lie, or else packed whole, or widened
// whole and read from those copies, and the sums collected in C, or where that is of another type
// or lies across, in a buffer. The kernel is called once for each product of a group, or for each
// block of k of one that stays near (core/near_rule.hpp), and they are dealt to threads in runs; of
// a single product columns are, or rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cpu/kernel.hpp"
#include "cpu/workspace.hpp"
#include "tessera/plan.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cpu {

// What products that differ in their addresses alone (core/alike.hpp) have in common, if B begins
// at a line of the cache, or does not, as in the one that it was made for (begins_alike).
struct DirectForm {
  void (*multiply)(const BlockTask& task) = nullptr;
  bool is_one_call = true;       // of the kernel, which needs no buffer
  std::size_t buffer_bytes = 0;  // of panels and of sums that are not collected in C
  BlockTask task;                // all but the addresses, of the first block of k
  // All of k, and how far the operands' next blocks lie behind these, in bytes. Those of several
  // are in place.
  std::int64_t depth = 0;
  std::int64_t next_a = 0;
  std::int64_t next_b = 0;
  bool turned = false;    // Cᵀ = Bᵀ·Aᵀ
  bool is_large = false;  // it goes this way because it stays near, not because it is small
  double flops = 0;
  // An operand that is packed first, or else widened, how and into how many bytes; both are null in
  // place.
  struct Packing {
    void (*pack)(const PackSource& source, void* panels) = nullptr;
    PackSource source;  // all but the address
    std::size_t bytes = 0;
    void (*widen)(const PackSource& source, std::int64_t stride, void* to) = nullptr;
    std::int64_t stride = 0;  // of the copy
  };
  Packing a;
  Packing b;
  bool passes = false;  // B is packed in passing, with room in `b`
  // Of B's address, as the kernel sees B: some are set where it passes, none where it does not. No
  // bits where that does not matter.
  std::uintptr_t line_bits = 0;
  bool keeps_rows_whole = false;  // C's: several threads take parts of its rows alone
  bool fetches_rows = false;      // C's, of which the processor fetches what comes next, too
  // Several threads take parts of the columns, if there are enough: with rows each would pack all
  // of B, by pieces (core/tile_registers_rule.hpp).
  bool keeps_columns_apart = false;
  // For a part of the columns or rows: what it has a multiple of, and bytes from one to the next in
  // the operand that has them, B or A, and in C.
  struct Side {
    int tile = 1;
    std::int64_t operand_bytes = 0;
    std::int64_t c_bytes = 0;
  };
  Side columns;
  Side rows;
  int strip_rows = 0;  // half a block's, of tile registers; 0: it goes by others
  // What writes sums that are not collected in C; null: they are. Behind the panels they have room.
  void (*finish)(const Finish& finish, const void* sum, std::int64_t sum_stride, std::int64_t rows,
                 std::int64_t cols) = nullptr;
  std::int64_t c_row_stride = 0;
  std::int64_t c_col_stride = 0;
  ElementType c_type = ElementType::f32;
};

inline bool begins_alike(const DirectForm& form, const Operands& operands) {
  const void* b = form.turned ? operands.a.data : operands.b.data;
  const bool is_off_line = (reinterpret_cast<std::uintptr_t>(b) & form.line_bits) != 0;
  return form.line_bits == 0 || is_off_line == form.passes;
}

// Empty where the product must go the general way (tile_run.cpp). The bits are the same either way:
// every element of C is one chain of multiply-adds along each block of k.
std::optional<DirectForm> direct_form(const Plan& plan, const KernelCode& code,
                                      const Operands& operands);

// multiply_directly where that is not all: the kernel is called for several blocks of k, something
// is packed, or sums are collected elsewhere.
bool multiply_at_length(const DirectForm& form, const Operands& operands);

// False where there is no memory for panels or sums, and nothing is written.
inline bool multiply_directly(const DirectForm& form, const Operands& operands) {
  if (!form.is_one_call) return multiply_at_length(form, operands);
  BlockTask task = form.task;
  task.a.data = form.turned ? operands.b.data : operands.a.data;
  task.b.data = form.turned ? operands.a.data : operands.b.data;
  task.sum = operands.c.data;
  form.multiply(task);
  return true;
}

// How many rows of a product, or else columns, each of so many workers takes: nearly equal parts;
// 0 where neither can be dealt so. Rows where a cut between columns would run through a line of
// each row of C, for a line that two workers write goes back and forth between them. The time by
// columns over the time so, two threads, 2026-11: Zen 3, 40 products with k up to 32, operands in
// rows and B along k, f32 1.06, 1.05, f64 1.04, 1.03, bf16 1.06, 1.07, i8 1.10, 1.08
// (290×191×16 2.7), 40 awkward ones 1.02 to 1.05; Emerald Rapids, operands in rows, f32 1.07 and
// 1.04, bf16 1.05 and 1.01. Many columns for each row are better dealt, and sooner where all would
// pack them: 24×1000×60 f32 0.93, i8 0.88, B along k f64 150×250×30 0.76, 100×270×40 0.75.
// Tile registers deal strips of one register's rows then, whatever the columns, as long as every
// worker has some: two threads, Granite Rapids, 2026-11, random products by columns over the time
// so, 50 of 30 to 300 a side i8 1.03, bf16 1.02 (i8 193×229×210 1.9, 115×241×147 1.8,
// 238×249×35 3.5), 30 with a k up to 48 1.11, 1.18 (bf16 197×602×7 2.4, 732×796×16 1.9,
// 219×635×3 2.8), 30 awkward ones 1.01, 1.00; Emerald Rapids, two threads and four, 40 of 30 to 300
// a side i8 1.03, 1.09, bf16 1.02, 1.05.
// Rows, too, where they are fetched from end to end: beyond a cut the processor would fetch lines
// that another worker writes. Emerald Rapids, two threads, 2026-11-29, the time by columns that are
// not fetched over the time by columns that are, f32 256×256×2 0.4, 700×256×2 0.24, 700×128×2 0.7.
struct Share {
  std::int64_t size = 0;
  bool of_columns = false;
};

Share share_of(const DirectForm& form, int workers);

// So many columns of the product as the kernel sees it, or so many rows, from `first` on.
inline bool multiply_part(DirectForm form, Operands operands, bool of_columns, std::int64_t first,
                          std::int64_t count) {
  const DirectForm::Side& side = of_columns ? form.columns : form.rows;
  ConstMatrixView& operand = of_columns != form.turned ? operands.b : operands.a;
  operand.data = static_cast<const unsigned char*>(operand.data) + first * side.operand_bytes;
  operands.c.data = static_cast<unsigned char*>(operands.c.data) + first * side.c_bytes;
  (of_columns ? form.task.cols : form.task.rows) = count;
  if (of_columns && form.fetches_rows) form.task.fetches_sums = false;
  (of_columns ? form.b : form.a).source.along = count;
  return multiply_directly(form, operands);
}

// Whether the plan's products all went this way and C is written. `threads` may be used.
bool run_directly(const Plan& plan, const KernelCode& code, std::span<const Operands> groups,
                  int threads);

}  // namespace tessera::cpu
