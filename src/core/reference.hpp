// The naive product that every fast path is judged against: float64 (exact int64 for integers), one
// element at a time, no blocking. It also bounds what rounding may do.
#pragma once

#include <cstdint>

#include "tessera/problem.hpp"

namespace tessera {

// One element of a view, as a double.
double element_at(const ConstMatrixView& view, std::int64_t row, std::int64_t col);

// C ← activation(alpha·A·B + beta·C + bias), rounded once to C's type. Bad operands: see describe.
void reference_gemm(double alpha, const Operands& operands, double beta, const Epilogue& epilogue);

// Half a unit in the last place of 1, the relative error of one rounding; 0 for integers.
double unit_roundoff(ElementType type);

// The largest number of a floating-point type; 0 for integers.
double largest_finite(ElementType type);

// The absolute error that a result too small for the type's normal range may have.
double smallest_subnormal(ElementType type);

// The exact value of one element of the result and the largest error a correct product may have
// there: |C − Ĉ| ≤ γ·(|alpha|·|A||B| + |beta·C| + |bias|), netlib's componentwise criterion.
struct Expected {
  double value = 0;
  double tolerance = 0;
};

// `c_before` is the value of C(row, col) before the call; `contributors` the most pieces that any
// tile's sum was made from.
Expected expected_element(double alpha, const Operands& operands, double beta,
                          const Epilogue& epilogue, std::int64_t row, std::int64_t col,
                          double c_before, std::int64_t contributors);

}  // namespace tessera
