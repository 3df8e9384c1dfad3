// How the peers of a plan's tiles add them up: what GPUs launch and reports tell.
#pragma once

#include <cstdint>

#include "core/sm90_blocks.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "tessera/plan.hpp"

namespace tessera {

enum class FixUp : std::uint8_t {
  tree,     // fixup.hpp: the last to arrive adds what the others have published
  meeting,  // fixup_meeting.hpp: all stay for one another, and add a share each
};

// In a plain kernel of such blocks, which is the only one that can do both.
FixUp fix_up_of(const Sm90Block& block, const Partition& partition, std::int64_t tiles);

// In the kernel that a plan's launch takes where C lies as planned and nothing is traced.
FixUp fix_up_of(const Plan& plan, const Partition& partition, const IterationSpace& space);

}  // namespace tessera
