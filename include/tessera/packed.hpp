// A matrix packed ahead of the products that use it: weights, multiplied by many inputs. CPU only.
//
//   PackedMatrix weights = pack_b(plan, b);       // once
//   Operands o{a, b, c};
//   o.packed_b = &weights;                        // b's memory is not read any more
//   run(plan, {&o, 1});                           // as often as wanted, by any number of threads
//
// The layout is the blocked view that the plan's kernel reads: for each block of block_k rows,
// panels of nr columns (core/block_spec.hpp). It depends on the plan's kernel and block_k alone, so
// one packed matrix serves plans for any m; fix the two with PlanOptions::kernel and
// PlanOptions::tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tessera/export.hpp"
#include "tessera/matrix_view.hpp"

namespace tessera {

struct Plan;

class PackedMatrix {
 public:
  PackedMatrix() = default;  // empty: of no use but to be assigned to

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  ElementType type() const { return type_; }
  // The plan's kernel and block_k that it was packed for, and that a run must have.
  const std::string& kernel() const { return kernel_; }
  int block_k() const { return block_k_; }
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

}  // namespace tessera
