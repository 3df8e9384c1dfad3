// A matrix for tests: random contents, guard bands on both sides, and padding between its rows that
// is filled with NaN, so that a kernel that reads or writes one element too many is caught.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tessera/matrix_view.hpp"

namespace tessera::test {

enum class Fill {
  normal,    // nearly normal, of variance 1, rounded to the type
  integers,  // whole numbers from −3 to 3: products small enough are exact
  poison,    // NaN for floating point, a fixed pattern for integers
};

// How a rows×cols matrix lies in its buffer.
struct Placement {
  bool column_major = false;
  std::int64_t padding = 0;  // elements between the end of a row (column) and the next
  std::int64_t step = 1;     // stride along a row (column); above 1 the matrix has no unit stride
  bool on_line = false;      // the first element begins a cache line
};

class GuardedMatrix {
 public:
  GuardedMatrix(ElementType type, std::int64_t rows, std::int64_t cols, Fill fill,
                std::mt19937_64& random, Placement placement = {});

  MatrixView view();
  ConstMatrixView view() const;

  // Empty, or what was written outside the matrix's own elements since construction.
  std::string damage() const;

  // The elements' bytes, for bitwise comparison; padding and guards included.
  const std::vector<std::byte>& bytes() const { return buffer_; }

  double at(std::int64_t row, std::int64_t col) const;

 private:
  std::byte* element(std::int64_t row, std::int64_t col);

  ElementType type_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t row_stride_;
  std::int64_t col_stride_;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> pristine_;  // as constructed
  std::size_t offset_;               // of element (0, 0)
};

}  // namespace tessera::test
