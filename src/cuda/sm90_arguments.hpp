// What the Hopper kernel is given: a WorkItem's view of the operands is a tensor map for each.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/kernel_launch.hpp"
#include "cuda/trace_record.hpp"

namespace tessera::cuda {

struct Sm90Maps {
  CUtensorMap a;  // boxes as in OperandTile
  CUtensorMap b;
  CUtensorMap c;  // boxes as in StoreBox; only where the product's store_by_tma
};

// One product of a group.
struct Sm90Task {
  Sm90Maps maps;
  GroupOperands operands;
  bool multiplies = true;     // false where k or alpha is 0: A and B must not be touched
  bool store_by_tma = false;  // C = alpha·A·B in a layout that TMA can write
};

// Everything but tensor maps. A block copies it to shared memory when it starts, all lines at once:
// a kernel parameter that is read where it is needed costs the block a cache miss each time.
struct Sm90Header {
  Partition partition;
  std::int32_t group_count = 0;
  bool store_by_tma = false;  // of a single product, as in Sm90Task
  bool multiplies = true;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  EpilogueArguments epilogue;
  // Every consumer warpgroup of the cluster keeps slots and counters of its own, this far apart.
  FixupSpace fixup;
  std::int64_t fixup_part_bytes = 0;
  std::int64_t fixup_part_counters = 0;
  // Device memory; null for a single product, which travels here.
  const GroupExtent* extents = nullptr;
  const Sm90Task* tasks = nullptr;
  // Not null where the device makes partition, tiles and iterations.
  const DeviceLine* line = nullptr;
  GroupExtent extent;
  GroupOperands operands;
  TraceSpace trace;  // null: nothing is recorded
};

struct Sm90Arguments {
  Sm90Header header;
  Sm90Maps maps = {};  // of a single product
};

}  // namespace tessera::cuda
