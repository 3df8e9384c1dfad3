// Whether an output shares bytes with another matrix. Sub-matrices of one buffer may interleave,
// row by row, without sharing a byte (LAPACK does this everywhere), so comparing address ranges is
// not enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/matrix_view.hpp"

namespace tessera {

// From a matrix's first byte to the end of its last one; the matrix is not empty.
inline std::uintptr_t extent_of(const ConstMatrixView& view) {
  const std::int64_t last = (view.rows - 1) * view.row_stride + (view.cols - 1) * view.col_stride;
  return static_cast<std::uintptr_t>((last + 1) * size_of(view.type));
}

struct NamedView {
  ConstMatrixView view;
  const char* name;  // for the error message
  std::size_t group;
  bool is_output;
};

// Throws Error(invalid_argument) for the first output that shares a byte with another view.
void check_no_overlap(std::span<const NamedView> views);

// The quick question that comes first: do the outputs' address ranges, from first to last element,
// keep apart from one another and from those of the inputs? Mostly they do, and nothing more need
// be asked. With outputs in the order of their addresses, and inputs too, it takes no sorting and
// no searching. 1000 products of 32³, Zen 4, 2026-11: describe takes 17 µs with it and 247 without.
class OutputRanges {
 public:
  void reserve(std::size_t count) { ranges_.reserve(count); }
  void add(const ConstMatrixView& output);

  // To be called once, between outputs and inputs. False where two outputs' ranges meet.
  bool settle();
  bool meets(const ConstMatrixView& input);

 private:
  struct Range {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  static Range range_of(const ConstMatrixView& view);

  std::vector<Range> ranges_;
  std::size_t near_ = 0;  // where the last input lay among the outputs
};

}  // namespace tessera
