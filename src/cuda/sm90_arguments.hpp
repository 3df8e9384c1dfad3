// What the Hopper kernel is given: a WorkItem's view of the operands is a tensor map for each.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/kernel_launch.hpp"

namespace tessera::cuda {

// One product of the launch.
struct Sm90Task {
  CUtensorMap a;  // boxes as in OperandTile
  CUtensorMap b;
  CUtensorMap c;  // boxes of kStoreRows × kStoreColumns; only where Sm90Arguments::store_by_tma
  GroupOperands operands;
  bool multiplies = true;  // false where k or alpha is 0: A and B must not be touched
};

struct Sm90Arguments {
  Partition partition;
  std::int32_t group_count = 0;
  bool store_by_tma = false;  // C = alpha·A·B in a layout that TMA can write
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  EpilogueArguments epilogue;
  // Every consumer warpgroup of the cluster keeps slots and counters of its own, this far apart.
  FixupSpace fixup;
  std::int64_t fixup_part_bytes = 0;
  std::int64_t fixup_part_counters = 0;
  // Device memory, or null for a single product, which travels inline.
  const GroupExtent* extents = nullptr;
  const Sm90Task* tasks = nullptr;
  GroupExtent inline_extent;
  Sm90Task inline_task;
};

}  // namespace tessera::cuda
