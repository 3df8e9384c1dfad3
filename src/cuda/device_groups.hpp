// Products whose sizes, and perhaps addresses, stand in device memory: one rule for each operand,
// from which a prologue on the device makes every product's GroupOperands. The doors of grouped.hpp
// differ in nothing else; src/ragged_device.cpp turns them into this.
#pragma once

#include <cstdint>

#include "cuda/group_operands.hpp"
#include "schedule/group_sizes.hpp"

namespace tessera::cuda {

// Where product g's matrix lies: base + g·group_stride + (its segment's begin)·begin_stride, or at
// pointers[g]. Strides are in elements.
struct OperandRule {
  const void* base = nullptr;
  const void* const* pointers = nullptr;  // device memory
  std::int64_t element_bytes = 0;
  std::int64_t group_stride = 0;
  std::int64_t begin_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  // Device memory: each product's own stride, instead of the row's or the column's.
  IndexList leading = {};
  bool leads_rows = true;

  TESSERA_HD const void* data(std::int64_t group, std::int64_t begin) const {
    if (pointers != nullptr) return pointers[group];
    if (base == nullptr) return nullptr;
    return static_cast<const char*>(base) +
           (group * group_stride + begin * begin_stride) * element_bytes;
  }
  // Whether a pointer that stands in memory is null though it is needed, or leads into the midst of
  // an element. The host has checked `base`.
  TESSERA_HD bool leads_astray(std::int64_t group, bool is_needed) const {
    if (pointers == nullptr) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(pointers[group]);
    const auto size = static_cast<std::uintptr_t>(element_bytes);  // a power of two
    return address == 0 ? is_needed : (address & (size - 1)) != 0;
  }
  // Whether lines of so large a matrix run into each other.
  TESSERA_HD bool is_narrow(std::int64_t group, std::int64_t rows, std::int64_t cols) const {
    if (leading.data == nullptr) return false;
    const std::int64_t lines = leads_rows ? rows : cols;
    const std::int64_t length = leads_rows ? cols : rows;
    return lines > 1 && length > 0 && leading[group] < length;
  }
  TESSERA_HD std::int64_t row(std::int64_t group) const {
    return leading.data != nullptr && leads_rows ? leading[group] : row_stride;
  }
  TESSERA_HD std::int64_t col(std::int64_t group) const {
    return leading.data != nullptr && !leads_rows ? leading[group] : col_stride;
  }
};

struct DeviceGroups {
  GroupSizes sizes = {};
  OperandRule a = {};
  OperandRule b = {};
  OperandRule c = {};
  OperandRule up = {};     // the gated pair's second B, whose strides are B's; base null for others
  OperandRule bias = {};   // its row_stride is from one value to the next
  bool multiplies = true;  // alpha is not 0: A and B are read

  TESSERA_HD GroupOperands operands(std::int64_t group) const {
    const GroupSlice slice = sizes.slice(group);
    GroupOperands operands;
    operands.a = a.data(group, slice.begin);
    operands.b = b.data(group, slice.begin);
    operands.c = const_cast<void*>(c.data(group, slice.begin));
    operands.bias = bias.data(group, 0);
    operands.m = slice.m;
    operands.n = slice.n;
    operands.k = slice.k;
    operands.a_row_stride = a.row(group);
    operands.a_col_stride = a.col(group);
    operands.b_row_stride = b.row(group);
    operands.b_col_stride = b.col(group);
    operands.c_row_stride = c.row(group);
    operands.c_col_stride = c.col(group);
    operands.bias_stride = bias.row_stride;
    return operands;
  }

  // What is wrong with a product: its sizes, or its matrices, as describe() sees them.
  TESSERA_HD SizeFault fault(std::int64_t group) const {
    const SizeFault of_sizes = sizes.fault(group);
    if (of_sizes != SizeFault::none || c.pointers == nullptr) return of_sizes;
    const GroupSlice size = sizes.slice(group);
    if (a.is_narrow(group, size.m, size.k) || b.is_narrow(group, size.k, size.n) ||
        c.is_narrow(group, size.m, size.n)) {
      return SizeFault::too_large;
    }
    const bool has_c = size.m > 0 && size.n > 0;
    const bool reads = multiplies && has_c;
    const bool is_astray =
        (size.m > 0 && size.k > 0 && a.leads_astray(group, reads)) ||
        (size.k > 0 && size.n > 0 && b.leads_astray(group, reads)) ||
        (has_c && (c.leads_astray(group, true) || bias.leads_astray(group, true)));
    return is_astray ? SizeFault::misaligned : SizeFault::none;
  }
};

}  // namespace tessera::cuda
