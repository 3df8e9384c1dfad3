#include "bench/cuda/operands.hpp"

namespace tessera::bench {
namespace {

std::size_t matrix_bytes(ElementType type, std::int64_t rows, std::int64_t cols) {
  return OperandArena::round_up(static_cast<std::size_t>(rows * cols * size_of(type)));
}

}  // namespace

std::vector<Operands> CaseMemory::operands(const Case& what, const GemmTypes& types,
                                           const CudaLayouts& layouts, OperandArena& output,
                                           cudaStream_t stream) {
  const auto [a_type, b_type, c_type] = types;
  std::size_t a_bytes = 0;
  std::size_t b_bytes = 0;
  std::size_t c_bytes = 0;
  for (const GemmShape& s : what.groups) {
    a_bytes += matrix_bytes(a_type, s.m, s.k);
    b_bytes += matrix_bytes(b_type, s.k, s.n);
    c_bytes += matrix_bytes(c_type, s.m, s.n);
  }
  auto* a = static_cast<std::byte*>(a_.random(a_bytes, a_type, stream));
  auto* b = static_cast<std::byte*>(b_.random(b_bytes, b_type, stream));
  auto* c = static_cast<std::byte*>(output.any(c_bytes));
  std::vector<Operands> groups;
  for (const GemmShape& s : what.groups) {
    const ConstMatrixView a_rows{a, s.m, s.k, s.k, 1, a_type};
    const ConstMatrixView a_columns{a, s.m, s.k, 1, s.m, a_type};
    const ConstMatrixView b_rows{b, s.k, s.n, s.n, 1, b_type};
    const ConstMatrixView b_columns{b, s.k, s.n, 1, s.k, b_type};
    groups.push_back({layouts.a_column_major ? a_columns : a_rows,
                      layouts.b_column_major ? b_columns : b_rows,
                      {c, s.m, s.n, s.n, 1, c_type},
                      {}});
    a += matrix_bytes(a_type, s.m, s.k);
    b += matrix_bytes(b_type, s.k, s.n);
    c += matrix_bytes(c_type, s.m, s.n);
  }
  return groups;
}

void CaseMemory::add_bias(std::vector<Operands>& groups, cudaStream_t stream) {
  for (Operands& group : groups) {
    const MatrixView& c = group.c;
    group.bias = {bias_.random(matrix_bytes(c.type, 1, c.cols), c.type, stream), c.cols, 1, c.type};
  }
}

}  // namespace tessera::bench
