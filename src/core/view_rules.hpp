// What holds for one view, whatever it is multiplied by: sizes, strides, address. Everything throws
// Error(invalid_argument).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/matrix_view.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// An argument's name, made into text only for a message: checks of small products must not
// allocate.
struct ArgumentName {
  const char* name;
  std::size_t group;
  std::size_t groups;

  operator std::string() const {
    return groups == 1 ? name : std::string(name) + " of group " + std::to_string(group);
  }
};

bool is_size(std::int64_t size);
std::string size_requirement();

void check_view(const ArgumentName& name, const ConstMatrixView& view, bool data_needed);

// For a product of this shape and these types.
void check_bias(const ArgumentName& name, const ConstVectorView& bias, const Epilogue& epilogue,
                const GemmShape& shape, const GemmTypes& types);

// A matrix of which each product has some rows or columns, and one matrix per product: no place in
// it is so far away that a distance overflows. Memory may be missing, as products without a part in
// it need none.
void check_divided(const char* argument, const ConstMatrixView& view);
void check_repeated(const char* argument, const ConstMatrixView& first, std::int64_t groups,
                    std::int64_t group_stride);

}  // namespace tessera
