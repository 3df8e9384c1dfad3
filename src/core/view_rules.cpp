#include "core/view_rules.hpp"

#include <algorithm>
#include <cmath>

#include "core/invalid_argument.hpp"
#include "core/validate.hpp"

namespace tessera {
namespace {

// How far apart first and last element may be: their distance in bytes fits into 64 bits.
constexpr double kMostDistance = 0x1p59;

// From the first to the last of `count`, however large the numbers are.
double distance(std::int64_t count, std::int64_t stride) {
  return static_cast<double>(std::max<std::int64_t>(count - 1, 0)) *
         std::fabs(static_cast<double>(stride));
}
double distance(const ConstMatrixView& view) {
  return distance(view.rows, view.row_stride) + distance(view.cols, view.col_stride);
}

constexpr const char* kNearEnough = "have its last element within 2^59 elements of its first";

// Before anything else is computed from strides, which may be any number.
void check_extent(const ArgumentName& name, const ConstMatrixView& view) {
  if (distance(view) < kMostDistance) return;
  fail_argument(name, kNearEnough,
                shape_text(view.rows, view.cols) + " with row stride " +
                    std::to_string(view.row_stride) + ", column stride " +
                    std::to_string(view.col_stride),
                "pass the distance between neighbours in elements");
}

// Distinct elements must have distinct addresses, in rows or columns that do not run into each
// other.
void check_strides(const ArgumentName& name, const ConstMatrixView& view) {
  const bool one_row = view.rows <= 1;
  const bool one_col = view.cols <= 1;
  if ((!one_row && view.row_stride < 1) || (!one_col && view.col_stride < 1)) {
    fail_argument(name, "have strides of at least 1 element",
                  "row stride " + std::to_string(view.row_stride) + ", column stride " +
                      std::to_string(view.col_stride),
                  "pass the distance between neighbours in elements");
  }
  if (one_row || one_col) return;
  const bool rows_outside = view.row_stride >= view.col_stride;
  const std::int64_t outer_stride = rows_outside ? view.row_stride : view.col_stride;
  const std::int64_t needed =
      rows_outside ? (view.cols - 1) * view.col_stride + 1 : (view.rows - 1) * view.row_stride + 1;
  if (outer_stride < needed) {
    fail_argument(name,
                  std::string("have a ") + (rows_outside ? "row" : "column") +
                      " stride of at least " + std::to_string(needed) +
                      " elements, the length of a " + (rows_outside ? "row" : "column"),
                  std::to_string(outer_stride),
                  "raise the leading dimension, or check whether rows and columns are swapped");
  }
}

void check_address(const ArgumentName& name, const void* data, ElementType type) {
  const auto size = static_cast<std::uintptr_t>(size_of(type));  // a power of two
  const std::uintptr_t excess = reinterpret_cast<std::uintptr_t>(data) & (size - 1);
  if (excess == 0) return;
  fail_argument(name, "be aligned to its element type's " + std::to_string(size) + " bytes",
                "an address that is " + std::to_string(excess) + " bytes past such a boundary",
                "copy it to aligned memory");
}

void check_sizes(const ArgumentName& name, const ConstMatrixView& view) {
  if (is_size(view.rows) && is_size(view.cols)) return;
  fail_argument(name, "have sizes " + size_requirement(), shape_text(view.rows, view.cols),
                "pass its true size");
}

}  // namespace

bool is_size(std::int64_t size) {
  return size >= 0 && size <= kLargestSize;
}

std::string size_requirement() {
  return "from 0 to " + std::to_string(kLargestSize);
}

void check_view(const ArgumentName& name, const ConstMatrixView& view, bool data_needed) {
  check_sizes(name, view);
  if (view.rows == 0 || view.cols == 0) return;
  check_extent(name, view);
  check_strides(name, view);
  if (data_needed && view.data == nullptr) {
    fail_argument(name, "point to " + shape_text(view.rows, view.cols) + " elements",
                  "a null pointer", "allocate the matrix, or pass a size of 0");
  }
  check_address(name, view.data, view.type);
}

void check_bias(const ArgumentName& name, const ConstVectorView& bias, const Epilogue& epilogue,
                const GemmShape& shape, const GemmTypes& types) {
  if (epilogue.bias == BiasAxis::none) return;
  const std::int64_t needed = epilogue.bias == BiasAxis::row ? shape.m : shape.n;
  if (bias.size != needed) {
    fail_argument(name,
                  "have one value per " + std::string(name_of(epilogue.bias)) + " of C, " +
                      std::to_string(needed),
                  std::to_string(bias.size) + " values", "pass a bias of that length");
  }
  if (needed == 0) return;
  if (bias.data == nullptr) {
    fail_argument(name, "point to " + std::to_string(needed) + " values", "a null pointer",
                  "pass the bias, or ask for no bias in the epilogue");
  }
  if (needed > 1 && bias.stride < 1) {
    fail_argument(name, "have a stride of at least 1 element", std::to_string(bias.stride),
                  "pass the distance between its values");
  }
  if (bias.type != types.c && bias.type != accumulator_of(types)) {
    fail_argument(name,
                  "be of type " + std::string(name_of(types.c)) + " or " +
                      std::string(name_of(accumulator_of(types))),
                  std::string(name_of(bias.type)), "convert the bias");
  }
  check_extent(name, {bias.data, bias.size, 1, bias.stride, 1, bias.type});
  check_address(name, bias.data, bias.type);
}

void check_divided(const char* argument, const ConstMatrixView& view) {
  const ArgumentName name{argument, 0, 1};
  check_sizes(name, view);
  // Parts begin at multiples of strides also where they are empty.
  check_extent(name, view);
  check_view(name, view, false);
}

void check_repeated(const char* argument, const ConstMatrixView& first, std::int64_t groups,
                    std::int64_t group_stride) {
  check_divided(argument, first);
  if (group_stride < 0) {
    fail_argument(argument, "have a group stride of at least 0", std::to_string(group_stride),
                  "pass the distance between two groups' parts in elements");
  }
  if (distance(groups, group_stride) + distance(first) < kMostDistance) return;
  fail_argument(argument, kNearEnough,
                std::to_string(groups) + " times " + shape_text(first.rows, first.cols) +
                    " with group stride " + std::to_string(group_stride),
                "pass the distance between two groups' parts in elements");
}

}  // namespace tessera
