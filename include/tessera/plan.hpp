// A Plan: the planner's answer, with its reasons. Plain data; it can be printed, saved, and run as
// often as wanted on operands that fit its Problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// One named term of a predicted time.
struct CostTerm {
  std::string name;
  double seconds = 0;
};

// A predicted time and the figures it was made from.
struct Cost {
  double seconds = 0;           // what candidates are compared by
  std::vector<CostTerm> terms;  // what `seconds` is made of, largest overlap already resolved
  double memory_bytes = 0;      // traffic to and from device memory
  double cache_bytes = 0;       // traffic from the shared cache
};

struct Candidate {
  std::string kernel;  // the catalogue's name
  TileConfig tile;
  Schedule schedule;
  std::optional<Cost> cost;  // absent for a rejected candidate
  std::string rejection;     // why it was rejected; empty otherwise
};

// The counts of a divided iteration space, as printed by `tessera plan`. What is not stream-K's is
// counted as data-parallel, also where it comes in pieces: of split_k, and the last tiles of a
// hybrid where the workers of a GPU claim the tiles of groups (docs/schedules.md).
struct Decomposition {
  std::int64_t tiles_m = 0;  // of the first group
  std::int64_t tiles_n = 0;
  std::int64_t tiles = 0;  // of all groups
  std::int64_t stream_k_tiles = 0;
  std::int64_t data_parallel_tiles = 0;
  std::int64_t iterations_per_tile = 0;  // of the first group
  std::int64_t iterations = 0;           // of all groups
  std::int64_t stream_k_iterations = 0;
  std::int64_t iterations_per_worker = 0;  // stream-K iterations each worker takes ...
  std::int64_t leftover_iterations = 0;    // ... and how many workers take one more
};

struct Plan {
  Problem problem;
  Machine machine;
  std::string kernel;
  TileConfig tile;
  Schedule schedule;
  Decomposition decomposition;
  Cost cost;
  // Why this path: one sentence for people, e.g. "B is read in place: each element is used once".
  std::string reason;
  // Every other candidate: costed and slower, or rejected with its reason.
  std::vector<Candidate> others;
};

// What the caller fixes; the planner chooses the rest.
struct PlanOptions {
  std::optional<ScheduleKind> schedule;
  std::optional<int> workers;
  std::optional<int> splits;
  // block_m, block_n and block_k are honoured. On a CPU a block_m or block_n of 0 is as large as
  // the product, but where B is packed (Major::packed) and block_k is all that is set, chosen.
  std::optional<TileConfig> tile;
  std::optional<TileOrderChoice> order;
  bool two_tile = true;
  std::optional<std::string> kernel;  // a catalogue name, e.g. to force an instruction set
  // A row of C does not change a bit when m, other rows or other groups change.
  bool batch_invariant = false;
  bool keep_others = false;  // fill Plan::others
  // GPU: a kernel may work on copies, in the workspace, of operands that it cannot read where they
  // lie. Never so with batch_invariant, nor where sizes stand in device memory.
  bool allow_copies = true;
};

// Pure: the same arguments give the same plan, anywhere. Throws Error(invalid_argument) or, where
// no candidate is left, Error(unsupported) with the reasons.
TESSERA_API Plan make_plan(const Problem& problem, const Machine& machine,
                           const PlanOptions& options = {});

TESSERA_API std::string to_json(const Plan& plan);
// Refuses another schema version, naming both.
TESSERA_API Plan plan_from_json(std::string_view text);

}  // namespace tessera
