// What a partition's numbers mean, for those who tell of it, and for what runs on the host alone.
#pragma once

#include "schedule/partition.hpp"

namespace tessera {

// Whether workers claim its units one by one. With no whole tile in front nobody has more than one
// unit of a hybrid, and claimed is as dealt.
inline bool claims_units(const Partition& partition) {
  return partition.whole_tiles > 0;
}

}  // namespace tessera
