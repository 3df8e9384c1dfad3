#include "plan/decompose.hpp"

#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"

namespace tessera {

Decomposition decompose(const Plan& plan) {
  const HostIterationSpace host(plan.problem.groups, plan.tile);
  const IterationSpace& space = host.space();
  const Partition partition = partition_of(plan, space);

  Decomposition d;
  if (space.group_count > 0) {
    d.tiles_m = space.groups[0].grid_m;
    d.tiles_n = space.groups[0].grid_n;
    d.iterations_per_tile = space.groups[0].iterations;
  }
  d.tiles = space.tiles;
  d.iterations = space.iterations;
  d.stream_k_tiles = partition.stream_tiles;
  d.data_parallel_tiles = space.tiles - partition.stream_tiles;
  d.stream_k_iterations = partition.stream_iterations;
  d.iterations_per_worker = partition.stream_iterations / partition.workers;
  d.leftover_iterations = partition.stream_iterations % partition.workers;
  return d;
}

}  // namespace tessera
