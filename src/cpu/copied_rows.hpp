// Rows of A copied to lie along k, for kernels that read them as vectors or keep them in place.
#pragma once

#include <cstdint>

#include "cpu/kernel.hpp"

namespace tessera::cpu {

// Elements from one copied row to the next: an odd number of cache lines, so that rows keep apart
// in the caches.
std::int64_t copied_stride(std::int64_t depth, int element_size);

// Copies `source`'s rows to `to`, so many elements apart. Rows that do not lie along k are
// gathered.
void copy_rows(const PackSource& source, int element_size, std::int64_t stride, void* to);

// The same, copied_stride() of the source's depth apart, as KernelCode::pack_a.
using CopyRows = void (*)(const PackSource& source, void* to);
CopyRows row_copier(int element_size);

}  // namespace tessera::cpu
