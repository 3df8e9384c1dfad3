// The figures behind a plan, for those who show plans: `tessera plan`, `explain` and the reports.
// They are taken from the planner's own functions, so that what is shown is what was decided by.
#pragma once

#include <cstdint>

#include "plan/cost.hpp"
#include "plan/scratchpad.hpp"
#include "tessera/plan.hpp"

namespace tessera {

// FLOP per byte.
struct Intensities {
  double element = 0;     // one element of C at a time: 2K operations on 2K elements
  double tile = 0;        // what a tile loads from the shared cache
  double plan = 0;        // what the plan loads and stores in memory, reuse in the cache included
  double compulsory = 0;  // each operand touched once
  double ridge = 0;       // above it, the machine's arithmetic is the limit and not its memory
};

// As if all tiles were whole: what the partial wave looks like that stream-K and hybrid do away
// with.
struct Waves {
  std::int64_t full = 0;
  std::int64_t last_tiles = 0;  // in the partial wave; 0 where there is none
  double filled = 1;            // share of all waves' places that hold a tile
};

struct Explanation {
  Intensities intensities;
  Waves waves;
  ScratchpadUse scratchpad;
  std::int64_t scratchpad_limit = 0;
  std::int64_t peers = 1;  // contributors to the tile that has the most
  FixupPath fixup;         // of their tree, by which they are priced even where they meet
  double flops_per_second = 0;
  double share_of_peak = 0;
};

Explanation explain(const Plan& plan);

}  // namespace tessera
