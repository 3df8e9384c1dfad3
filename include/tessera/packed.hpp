// A matrix packed ahead of the products that use it: weights, multiplied by many inputs. CPU only.
//
//   PackedMatrix weights = pack_b(b, 16);         // once, for products of some 16 rows
//   Operands o{a, b, c};
//   o.packed_b = &weights;                        // b's memory is not read any more
//   gemm(1, o, 0);                                // as often as wanted, by any number of threads
//
// The layout is the blocked view that a plan's kernel reads: for each block of block_k rows,
// panels of nr columns (core/block_spec.hpp). It depends on the kernel and block_k alone, so one
// packed matrix serves products of any m, though another might be faster for much more or fewer
// rows: gemm() plans with the two, and options_for() is for plans of one's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tessera/export.hpp"
#include "tessera/matrix_view.hpp"
#include "tessera/plan.hpp"

namespace tessera {

class PackedMatrix {
 public:
  PackedMatrix() = default;  // empty: of no use but to be assigned to

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  ElementType type() const { return type_; }
  // The plan's kernel and block_k that it was packed for, and that a run must have.
  const std::string& kernel() const { return kernel_; }
  int block_k() const { return block_k_; }
  // Of f64 by residues also a copy of B, for what residues do not hold.
  std::size_t bytes() const { return bytes_; }
  // Aligned to a cache line; laid out as said above.
  const void* data() const { return data_.get(); }

 private:
  friend TESSERA_API PackedMatrix pack_b(const Plan& plan, ConstMatrixView b);

  std::shared_ptr<const void> data_;  // copies share it
  std::size_t bytes_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  ElementType type_ = ElementType::f32;
  std::string kernel_;
  int block_k_ = 0;
};

// Packs B (k × n, any strides) for plans with this plan's kernel and block_k. Throws Error:
// unsupported for a plan that is not for this CPU, invalid_argument for a B of another type or
// without memory, out_of_memory.
TESSERA_API PackedMatrix pack_b(const Plan& plan, ConstMatrixView b);

// The same for the plan of products of about so many rows on this CPU, with an A of B's type, or of
// `type_a`: u8 beside i8. Products of one grouped call need one kernel and block_k: for those pack
// for a plan.
TESSERA_API PackedMatrix pack_b(ConstMatrixView b, std::int64_t rows);
TESSERA_API PackedMatrix pack_b(ConstMatrixView b, std::int64_t rows, ElementType type_a);

// For plans that a packed B is to fit: its kernel and block_k. The problem's b.major is
// Major::packed then, as describe() says of operands with a packed B. Where the kernel computes a
// row by what others hold (f32 in parts, f64 by residues), they do not go with batch_invariant.
// What `chosen` names stays: a kernel, a tile, whose block_k may be 0 to be the packed one.
TESSERA_API PlanOptions options_for(const PackedMatrix& packed, PlanOptions chosen = {});

}  // namespace tessera
