// What the Hopper kernel is given: a WorkItem's view of the operands is a tensor map for each.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "cuda/group_columns.hpp"
#include "cuda/kernel_arguments.hpp"
#include "cuda/trace_record.hpp"
#include "cuda/workspace.hpp"
#include "schedule/cut_rows.hpp"
#include "schedule/unit_items.hpp"

namespace tessera::cuda {

struct Sm90Maps {
  CUtensorMap a;  // boxes as in OperandTile
  CUtensorMap b;
  CUtensorMap c;   // boxes as in StoreBox; only where the product's store_by_tma
  CUtensorMap up;  // the gated pair's second A; its first is the gate
};

// One product of a group. Fences for tensor maps cover 128 bytes, which toolkits before CUDA 13 do
// not align them to.
struct alignas(128) Sm90Task {
  Sm90Maps maps;
  GroupOperands operands;
  GroupColumns columns;        // read by kernels that are compiled for groups
  std::int32_t first_row = 0;  // of CutRows, where the groups are such
  bool multiplies = true;      // false where k or alpha is 0: A and B must not be touched
  bool store_by_tma = false;   // C lies so that TMA can write it, and the kernel can so finish it
};

// How the blocks of a cluster share their loads. Rank r is block r mod rows of the cluster's rows,
// and r / rows of its columns; rows is a power of two.
struct Sm90Shares {
  std::int32_t rows_log2 = 0;
  std::int32_t cluster_rows = 1;
  std::int32_t cluster_cols = 1;
  // A block's lines of each box of A and of B, and the ranks that need what rank 0 needs.
  std::int16_t a_lines = 0;
  std::int16_t b_lines = 0;
  std::uint16_t a_ranks = 1;
  std::uint16_t b_ranks = 1;
};

// Everything but tensor maps. A block copies it to shared memory when it starts, all lines at once:
// a kernel parameter that is read where it is needed costs the block a cache miss each time.
struct Sm90Header {
  // What a block's first load waits for, in a row, since each line of parameters is a cache miss.
  UnitItems units;  // of a single product
  Sm90Shares shares;
  // Where a block's tile begins at the latest, in a plain kernel (BlockContext::inside); anywhere
  // where C of before is read, which nobody may have overwritten then.
  std::int32_t last_row = 0;
  std::int32_t last_col = 0;
  const Sm90Task* tasks = nullptr;  // device memory; null for a single product, which travels here
  TraceSpace trace;                 // null: nothing is recorded
  bool multiplies = true;           // of a single product, as in Sm90Task

  bool store_by_tma = false;
  bool finishes_sums = false;     // more than alpha·A·B in the input's type leaves by TMA
  bool peers_meet = false;        // of a plain product's tiles (schedule/fixup_meeting.hpp)
  bool stores_dense_rows = true;  // how C lies where it leaves by TMA, for all products
  std::int32_t group_count = 0;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  Partition partition;
  EpilogueArguments epilogue;
  // Slots and counters of the warpgroups that share a cluster's tile lie this far apart.
  FixupSpace fixup;
  std::int64_t fixup_part_bytes = 0;
  std::int64_t fixup_part_counters = 0;
  const GroupExtent* extents = nullptr;  // as with tasks
  // Not null for groups: partition, tiles, iterations and claims.
  DeviceLine* line = nullptr;
  // Of cut rows that need no prologue, both null elsewhere: claims so far, which are zero between
  // launches, and where wrong offsets are told of.
  std::int32_t* claims = nullptr;
  FoundFault* fault = nullptr;
  // Each worker's first item, where it was found beforehand; one without peers: not there.
  const WorkItem* first_items = nullptr;
  GroupExtent extent;
  GroupOperands operands;  // of a single product; without a prologue, C of all groups as one
};
static_assert(offsetof(Sm90Header, multiplies) < 128);

struct Sm90Arguments {
  Sm90Header header;
  // Of a single product; or those of A and B that serve all groups where these are cut rows, whose
  // tiles may reach into the next group's rows, which make columns of C that nobody stores.
  Sm90Maps maps = {};
  CutRows cut;
  ColumnSteps column_steps;  // of cut rows
};

}  // namespace tessera::cuda
