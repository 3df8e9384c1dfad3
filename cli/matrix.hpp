// A matrix that owns its memory, of any element type, in row- or column-major order without gaps.
// The library itself only ever views memory; this is what the command reads files into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tessera/matrix_view.hpp"
#include "tessera/problem.hpp"

namespace tessera::cli {

class Matrix {
 public:
  Matrix() = default;
  // Uninitialised, aligned to 64 bytes. `major` is row or column. Throws Error(out_of_memory), also
  // for sizes that no machine has.
  Matrix(std::int64_t rows, std::int64_t cols, ElementType type, Major major = Major::row);
  Matrix(Matrix&&) = default;
  Matrix& operator=(Matrix&&) = default;

  // `count` rows from `first` on, in the same memory, which lives as long as any of its matrices.
  // Of a column-major matrix all rows, or none of them would lie without gaps.
  Matrix part(std::int64_t first, std::int64_t count) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  ElementType type() const { return type_; }
  Major major() const { return major_; }

  MatrixView view();
  ConstMatrixView view() const;
  std::span<std::byte> bytes();
  std::span<const std::byte> bytes() const;

 private:
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
  ElementType type_ = ElementType::f32;
  Major major_ = Major::row;
  std::size_t size_ = 0;
  std::shared_ptr<std::byte> memory_;
};

// How A and B of a product are stored. A B that is to be packed is given by rows.
struct StoredLayouts {
  Major a = Major::row;
  Major b = Major::row;

  Major given_b() const { return b == Major::packed ? Major::row : b; }
};

}  // namespace tessera::cli
