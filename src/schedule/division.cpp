#include "schedule/division.hpp"

#include "core/catalogue.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera {

HybridCut hybrid_cut(const Partition& hybrid) {
  if (hybrid.splits > 1) return HybridCut::last_tiles;
  return hybrid.stream_tiles < hybrid.workers ? HybridCut::one_tile : HybridCut::two_tiles;
}

Partition partition_of(const Problem& problem, const Candidate& candidate) {
  const KernelEntry* const kernel = find_kernel(candidate.kernel);
  return partition_of(candidate.schedule, HostIterationSpace(problem.groups, candidate.tile),
                      kernel != nullptr && claims_tiles(*kernel, problem));
}

Partition partition_of(const Plan& plan) {
  return partition_of(plan, HostIterationSpace(plan.problem.groups, plan.tile));
}

}  // namespace tessera
