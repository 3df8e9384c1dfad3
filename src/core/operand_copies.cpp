#include "core/operand_copies.hpp"

namespace tessera {

bool may_copy(const PlanOptions& options) {
  return options.allow_copies && !options.batch_invariant;
}

OperandCopies copies_of(const KernelEntry& kernel, const Problem& problem) {
  if (!kernel.needs_tma) return {};
  return {!suits_tma(problem.a), !suits_tma(problem.b)};
}

CopyLayout copy_layout(const OperandLayout& layout, ElementType type, std::int64_t rows,
                       std::int64_t cols) {
  CopyLayout copy;
  copy.dense_rows = layout.major == Major::row;
  copy.length = copy.dense_rows ? cols : rows;
  copy.lines = copy.dense_rows ? rows : cols;
  const std::int64_t unit = 128 / size_of(type);
  copy.stride = (copy.length + unit - 1) / unit * unit;
  return copy;
}

double bytes_to_copy(const OperandCopies& copies, const Problem& problem, const GemmShape& shape) {
  const auto k = static_cast<double>(shape.k);
  double bytes = 0;
  if (copies.a) bytes += static_cast<double>(shape.m) * k * size_of(problem.types.a);
  if (copies.b) bytes += k * static_cast<double>(shape.n) * size_of(problem.types.b);
  return bytes;
}

}  // namespace tessera
