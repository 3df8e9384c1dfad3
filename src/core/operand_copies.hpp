// Operands that a plan's kernel reads from copies: those which the tensor memory accelerator cannot
// read where they lie. The planner counts the copies' time, and the launcher their bytes.
#pragma once

#include <cstdint>

#include "core/catalogue.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

struct OperandCopies {
  bool a = false;
  bool b = false;

  bool any() const { return a || b; }
};

// Whether a plan may copy operands at all. Not for a batch-invariant one: a row's bits must not
// depend on how the other operand lies.
bool may_copy(const PlanOptions& options);

// None for kernels that read any operand, and where the operands suit.
OperandCopies copies_of(const KernelEntry& kernel, const Problem& problem);

// How a copy lies: densely along the side that is dense in the original (columns, where none is),
// each line from a multiple of 128 bytes on.
struct CopyLayout {
  bool dense_rows = true;
  std::int64_t length = 0;  // of a line, in elements
  std::int64_t lines = 0;
  std::int64_t stride = 0;  // from line to line, in elements

  std::int64_t elements() const { return lines * stride; }
};
CopyLayout copy_layout(const OperandLayout& layout, ElementType type, std::int64_t rows,
                       std::int64_t cols);

// Of all operands that are copied, without what aligns the copies.
double bytes_to_copy(const OperandCopies& copies, const Problem& problem, const GemmShape& shape);

}  // namespace tessera
