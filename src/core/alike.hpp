// Whether products differ in their addresses alone: then what was found out about the one holds for
// the other, which is what makes a batch of small products, or a loop over them, cheap to check.
#pragma once

#include "tessera/problem.hpp"

namespace tessera {

inline bool differ_in_address_alone(const ConstMatrixView& p, const ConstMatrixView& q) {
  return p.rows == q.rows && p.cols == q.cols && p.row_stride == q.row_stride &&
         p.col_stride == q.col_stride && p.type == q.type;
}

// Of A, B and C, none of them packed; the bias is not looked at.
inline bool differ_in_addresses_alone(const Operands& p, const Operands& q) {
  return differ_in_address_alone(p.a, q.a) && differ_in_address_alone(p.b, q.b) &&
         differ_in_address_alone(p.c, q.c) && p.packed_b == nullptr && q.packed_b == nullptr;
}

}  // namespace tessera
