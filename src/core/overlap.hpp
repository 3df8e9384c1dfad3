// Whether an output shares bytes with another matrix. Sub-matrices of one buffer may interleave,
// row by row, without sharing a byte (LAPACK does this everywhere), so comparing address ranges is
// not enough.
#pragma once

#include <span>

#include "tessera/matrix_view.hpp"

namespace tessera {

struct NamedView {
  ConstMatrixView view;
  const char* name;  // for the error message
  std::size_t group;
  bool is_output;
};

// Throws Error(invalid_argument) for the first output that shares a byte with another view.
void check_no_overlap(std::span<const NamedView> views);

}  // namespace tessera
