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
  OperandRule up = {};    // the gated pair's second B, whose strides are B's; base null for others
  OperandRule bias = {};  // its row_stride is from one value to the next

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
};

}  // namespace tessera::cuda
