// The sizes of a ragged call, read on the host: arrays checked, and their first fault reported.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/group_sizes.hpp"
#include "tessera/grouped.hpp"

namespace tessera {

// Each throws Error(invalid_argument) for an array of the wrong length, without memory or badly
// aligned; nothing is read, so that the array may lie on a device.

// `bound` is the size of what is divided; source says which side of it.
GroupSizes view_segments(SizeSource source, const IndexArray& offsets, std::int64_t groups,
                         const GemmShape& bound);
GroupSizes view_counts(const IndexArray& counts, std::int64_t groups, const GemmShape& bound);
GroupSizes view_sizes(const PointerArray& array);

// The same, and for the first number that breaks a rule of grouped.hpp.
GroupSizes read_segments(SizeSource source, const IndexArray& offsets, std::int64_t groups,
                         const GemmShape& bound);
GroupSizes read_counts(const IndexArray& counts, std::int64_t groups, const GemmShape& bound);
GroupSizes read_sizes(const PointerArray& array);

IndexList list_of(const IndexArray& array);

// Offsets that deal `total` evenly to the groups.
std::vector<std::int64_t> even_offsets(std::int64_t total, std::int64_t groups);

}  // namespace tessera
