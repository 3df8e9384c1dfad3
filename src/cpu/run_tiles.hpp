// Runs a plan of whole tiles: threads take one after another, each a worker's before others', and
// when none are left parts of the tiles that others are at (open_tiles.hpp). So they end together,
// too, where tiles do not divide evenly among them, or cores are not equally fast.
#pragma once

#include "cpu/blocking.hpp"
#include "cpu/recorder.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition.hpp"

namespace tessera::cpu {

// Whether the plan is one of whole tiles alone, and not of more than can be counted here.
bool are_tiles_taken(const Plan& plan, const IterationSpace& space);

// Whether there is so much to do that threads take over parts of tiles (Launch::sharers).
bool is_worth_sharing(const Plan& plan, const KernelCode& code, int threads);

// `sizes`: of the launch; the caller's thread has so much already. Throws std::bad_alloc, before
// any thread has begun.
void run_tiles(const Launch& launch, const HostIterationSpace& host_space,
               const Partition& partition, int threads, const PanelSizes& sizes,
               Recorder& recorder);

}  // namespace tessera::cpu
