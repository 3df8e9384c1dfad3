// Whether few rows of C had better read a large B in place by whole rows, from end to end.
#pragma once

#include "core/much_room.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// With 2 MB of L2, or more, rows that lie whole pages apart do not drive each other out of it.
// Emerald Rapids, one thread, f32, n = k = 4096, 2026-11, milliseconds by 4, 8 and 16 KB of each
// row: 2 rows 2.85, 2.80, 2.76; 8 3.67, 3.54, 3.40; 12 3.68, 3.49, 3.39; 16 5.09, 4.88, 4.77.
// Processors with 1 MB were slower so (plan/cpu_in_place.cpp). Not measured with rows that are
// interleaved in registers.
inline bool reads_whole_rows(const Machine& machine, bool interleaves) {
  return has_much_room(machine) && !interleaves;
}

}  // namespace tessera
