// The sizes of a group's products as they stand in arrays: offsets, counts, or (m, n, k) each. Host
// and device compile this file; the CPU reads the arrays through it to make its products, and
// group_line.hpp lays their iterations on the line.
//
// What is read is clamped into the bounds, so that wrong numbers never lead outside an operand;
// `fault` says what is wrong with them.
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"

namespace tessera {

enum class SizeSource : std::uint8_t {
  uniform,         // every product has the bounds' size
  row_segments,    // m is a segment of bound_m rows
  row_counts,      // m is a count of at most bound_m
  depth_segments,  // k is a segment of bound_k
  each,            // m, n and k are arrays
};

enum class SizeFault : std::int32_t {
  none,
  negative,    // a count, a size or the first offset
  falls,       // an offset below the one before it
  too_large,   // past the bound
  misaligned,  // a pointer or leading dimension, against what was promised of all
};

// Whole numbers of 32 or 64 bits, aligned to their type.
struct IndexList {
  const void* data = nullptr;
  bool is_wide = false;

  TESSERA_HD std::int64_t operator[](std::int64_t i) const {
    return is_wide ? static_cast<const std::int64_t*>(data)[i]
                   : static_cast<const std::int32_t*>(data)[i];
  }
};

// One product's part: its size, and where its segment begins.
struct GroupSlice {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t begin = 0;
};

struct GroupSizes {
  SizeSource source = SizeSource::uniform;
  // Segments: offsets hold the groups' ends alone, and the first begins at 0.
  bool has_ends_only = false;
  std::int32_t groups = 0;
  std::int64_t bound_m = 0;
  std::int64_t bound_n = 0;
  std::int64_t bound_k = 0;
  IndexList values{};  // offsets or counts; m where each product has its own
  IndexList n_values{};
  IndexList k_values{};

  // Of a segment, as the array says it.
  TESSERA_HD std::int64_t begin_of(std::int64_t group) const {
    if (!has_ends_only) return values[group];
    return group == 0 ? 0 : values[group - 1];
  }
  TESSERA_HD std::int64_t end_of(std::int64_t group) const {
    return values[has_ends_only ? group : group + 1];
  }

  TESSERA_HD GroupSlice slice(std::int64_t group) const {
    GroupSlice slice{bound_m, bound_n, bound_k, 0};
    switch (source) {
      case SizeSource::uniform:
        break;
      case SizeSource::row_counts:
        slice.m = clamp(values[group], 0, bound_m);
        break;
      case SizeSource::row_segments:
        slice.begin = clamp(begin_of(group), 0, bound_m);
        slice.m = clamp(end_of(group), slice.begin, bound_m) - slice.begin;
        break;
      case SizeSource::depth_segments:
        slice.begin = clamp(begin_of(group), 0, bound_k);
        slice.k = clamp(end_of(group), slice.begin, bound_k) - slice.begin;
        break;
      case SizeSource::each:
        slice.m = clamp(values[group], 0, bound_m);
        slice.n = clamp(n_values[group], 0, bound_n);
        slice.k = clamp(k_values[group], 0, bound_k);
        break;
    }
    return slice;
  }

  // Without a fault in any group, `slice` clamps nothing and no two segments share an element.
  TESSERA_HD SizeFault fault(std::int64_t group) const {
    switch (source) {
      case SizeSource::uniform:
        return SizeFault::none;
      case SizeSource::row_counts:
        return fault_of(values[group], bound_m);
      case SizeSource::row_segments:
        return fault_of_segment(begin_of(group), end_of(group), bound_m);
      case SizeSource::depth_segments:
        return fault_of_segment(begin_of(group), end_of(group), bound_k);
      case SizeSource::each:
        break;
    }
    const SizeFault of_m = fault_of(values[group], bound_m);
    if (of_m != SizeFault::none) return of_m;
    const SizeFault of_n = fault_of(n_values[group], bound_n);
    return of_n != SizeFault::none ? of_n : fault_of(k_values[group], bound_k);
  }

 private:
  TESSERA_HD static std::int64_t clamp(std::int64_t value, std::int64_t least, std::int64_t most) {
    const std::int64_t raised = value < least ? least : value;
    return raised > most ? most : raised;
  }
  TESSERA_HD static SizeFault fault_of(std::int64_t value, std::int64_t bound) {
    if (value < 0) return SizeFault::negative;
    return value > bound ? SizeFault::too_large : SizeFault::none;
  }
  TESSERA_HD static SizeFault fault_of_segment(std::int64_t begin, std::int64_t end,
                                               std::int64_t bound) {
    if (begin < 0) return SizeFault::negative;
    if (end < begin) return SizeFault::falls;
    return end > bound ? SizeFault::too_large : SizeFault::none;
  }
};

}  // namespace tessera
