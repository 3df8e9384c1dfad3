// The last step of the gated pair on a device: C ← gate ∘ up, rounded to C's type, for the rows
// that a group owns. Compiles and links everywhere, like run.hpp.
#pragma once

#include <cstdint>

#include "cuda/device_groups.hpp"
#include "tessera/element_type.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cuda {

struct DeviceLine;

struct GatedCombine {
  // Row-major (rows, cols) in the accumulator's type, `stride` elements from row to row.
  const void* gate = nullptr;
  const void* up = nullptr;
  ElementType type = ElementType::f32;
  std::int64_t rows = 0;  // of all groups
  std::int64_t cols = 0;
  std::int64_t stride = 0;
  OperandRule c;
  ElementType c_type = ElementType::f32;
  // Which rows a group owns: segments of `rows`, counts within capacities, or all.
  GroupSizes sizes;
  // The products' line, without tiles where their sizes were wrong; null where the host knows them.
  const DeviceLine* line = nullptr;
};

// Queued on the options' stream.
void combine_gated(const GatedCombine& work, const RunOptions& options);

}  // namespace tessera::cuda
