#include "plan/cost.hpp"

#include <algorithm>

#include "core/much_room.hpp"
#include "plan/worker_loads.hpp"
#include "schedule/fixup.hpp"
#include "schedule/partition_of.hpp"

namespace tessera {
namespace {

Partition partition_of(const TileProfile& profile, const Schedule& schedule) {
  return tessera::partition_of(schedule, profile.space(), profile.are_claimed);
}

// Whether all runs of the stream region start and end alike within their tiles: then workers walk
// side by side as they do on whole tiles.
bool is_aligned(const TileProfile& profile, const Partition& partition) {
  const std::int64_t each = partition.stream_iterations / partition.workers;
  const std::int64_t depth = profile.most_iterations;
  return each > 0 && partition.stream_iterations % partition.workers == 0 &&
         (each % depth == 0 || depth % each == 0);
}

// Contributors to the tile that has the most of them.
std::int64_t peers_in(const TileProfile& profile, const Partition& partition) {
  const std::int64_t split = std::min<std::int64_t>(partition.splits, profile.most_iterations);
  if (partition.stream_iterations == 0) return split;
  const std::int64_t each =
      std::max<std::int64_t>(1, partition.stream_iterations / partition.workers);
  const std::int64_t stream = ceil_div(profile.most_iterations, each);
  return std::max(split,
                  is_aligned(profile, partition) ? stream : std::max<std::int64_t>(stream, 2));
}

// Bytes that pass at the memory's pace in each of the two regions.
struct RegionBytes {
  double stream = 0;
  double units = 0;
};

// Partial tiles stay in the cache unless there are too many of them; then each is written to memory
// and read back.
double partial_traffic(const TileProfile& profile, const Machine& machine,
                       const Partition& partition) {
  if (partition.splits == 1) return 0;
  const double partials =
      static_cast<double>(profile.tiles - partition.whole_tiles) *
      static_cast<double>(std::min<std::int64_t>(partition.splits, profile.most_iterations)) *
      profile.partial_bytes * profile.blocks_per_worker;
  return 2 * std::max(0.0, partials - 0.5 * static_cast<double>(machine.cache_bytes));
}

RegionBytes region_bytes(const TileProfile& profile, const Machine& machine,
                         const Partition& partition, const Traffic& traffic) {
  if (partition.stream_iterations == 0) {
    return {0, traffic.memory_bytes + partial_traffic(profile, machine, partition)};
  }
  const double streamed =
      static_cast<double>(partition.stream_iterations) / static_cast<double>(profile.iterations);
  const double stream =
      is_aligned(profile, partition) ? traffic.memory_bytes : traffic.scattered_bytes;
  return {streamed * stream, (1 - streamed) * traffic.memory_bytes};
}

// What each level of a GPU's tree of additions but the first takes besides, as races of whole plans
// say on an H200, 2026-11. 415 pairs of plans that differ in nothing but 4 to 8 or 9 to 64 pieces
// of k had said 1.2 to 1.9 us, run back to back; why that is more is not known.
constexpr double kHigherLevel = 0.5e-6;

// Pieces of tiles in turns are published and added by half of a block's threads while the others
// have nothing to do: for each beyond the first so much longer. H200, 2026-11, 667 pairs of plans,
// in turns and not, in 2 to 8 pieces: 1.5, 4.4, 7.0, 9.5, 12, 15, 18 us.
constexpr double kPieceInTurns = 2.3e-6;

double fixup_seconds(const TileProfile& profile, const Machine& machine,
                     const Partition& partition) {
  const std::int64_t peers = peers_in(profile, partition);
  if (peers == 1) return 0;
  const FixupPath path = fixup_path(peers);
  double finish = 0;
  for (const RunProfile& run : profile.runs) finish = std::max(finish, run.time.finish);
  const double higher = machine.kind == MachineKind::gpu ? kHigherLevel : 0;
  const double in_turns =
      profile.in_turns ? kPieceInTurns * static_cast<double>(partition.splits - 1) : 0;
  return path.levels * machine.cost.split_seconds + (path.levels - 1) * higher + in_turns +
         path.additions * machine.cost.peer_seconds_per_byte * profile.partial_bytes +
         finish * (1 - 1 / static_cast<double>(peers));
}

// From asking for a block in memory to having it, while the memory is busy. H200, 2026-11: products
// of one row under tiles with 164 KB in flight draw 76 GB/s per SM.
constexpr double kMemoryLatency = 2.2e-6;

// What one block of threads, or one core, draws from memory.
double worker_memory_rate(const TileProfile& profile, const Machine& machine) {
  if (machine.kind == MachineKind::cpu) return machine.worker_memory_bytes_per_second;
  return std::min(machine.worker_memory_bytes_per_second, profile.bytes_in_flight / kMemoryLatency);
}

// What is read from the second-level caches, against the shared one, where all workers' together
// hold a call's operands and results and calls repeat. Few rows beside a B of which each worker has
// its part, Emerald Rapids, f32, 2026-11-30: a core reads 70 GB/s for two rows of C, 45 for four,
// 25 for eight, whose multiply-adds take as long. Packing has prices of its own for what comes from
// L2. Not measured with less than 2 MB.
constexpr double kNearRate = 3;

double near_rate(const TileProfile& profile, const Machine& machine, double workers) {
  const double caches = workers * static_cast<double>(machine.scratchpad_bytes);
  if (!profile.reads_for_few_rows || !has_much_room(machine) || profile.footprint_bytes > caches) {
    return 1;
  }
  const double written = profile.result_bytes / std::max(1.0, profile.footprint_bytes);
  return 1 / (written + (1 - written) / kNearRate);
}

// Where the operands of a call come from. A CPU's are taken to be in caches if they fit; a GPU's
// come from memory, because a program's other kernels have swept its cache since.
double memory_rate(const TileProfile& profile, const Machine& machine, std::int64_t active) {
  const double workers = static_cast<double>(
      std::min<std::int64_t>(active * profile.blocks_per_worker, machine.workers));
  if (machine.kind == MachineKind::cpu &&
      profile.footprint_bytes <= static_cast<double>(machine.cache_bytes)) {
    return workers * worker_cache_rate(machine) * near_rate(profile, machine, workers);
  }
  return std::min(machine.memory_bytes_per_second, workers * worker_memory_rate(profile, machine));
}

// What runs that end anywhere within tiles take beside whole tiles and splits of them, on a GPU:
// more code to fetch, longer ways to an item, and loads that nobody shares. H200, 2026-11.
constexpr double kStreaming = 2.2e-6;
constexpr double kStreamingPace = 0.04;

double streaming_extra(const Machine& machine, const Partition& partition, double streaming) {
  if (machine.kind == MachineKind::cpu || partition.stream_iterations == 0) return 0;
  return kStreaming + kStreamingPace * streaming;
}

// Several products' records are sent by a kernel before, and who claims tiles has more code to
// fetch than who is dealt them. H200, 2026-11 (docs/cost_model.md).
constexpr double kRecords = 2e-6;
constexpr double kClaims = 1.5e-6;

double launch_seconds(const TileProfile& profile, const Machine& machine, std::int64_t workers) {
  if (machine.kind == MachineKind::cpu && workers == 1) return 0;
  return machine.cost.launch_seconds + profile.extra_launch_seconds +
         (profile.has_records ? kRecords : 0) + (profile.are_claimed ? kClaims : 0);
}

// Workers of a schedule that run at a time.
std::int64_t workers_at_once(const TileProfile& profile, const Machine& machine,
                             const Schedule& schedule) {
  return std::max<std::int64_t>(
      1, std::min<std::int64_t>(schedule.workers, machine.workers / profile.blocks_per_worker));
}

}  // namespace

std::int64_t most_peers(const TileProfile& profile, const Schedule& schedule) {
  return peers_in(profile, partition_of(profile, schedule));
}

FixupPath fixup_path(std::int64_t peers) {
  FixupPath path;
  while (peers > 1) {
    ++path.levels;
    path.additions += static_cast<int>(std::min<std::int64_t>(peers, kFixupFanIn)) - 1;
    peers = ceil_div(peers, kFixupFanIn);
  }
  return path;
}

Prediction predict(const TileProfile& profile, const Machine& machine, const Schedule& schedule,
                   const Traffic& traffic) {
  const Partition partition = partition_of(profile, schedule);
  const Loads loads = loads_of(profile, machine, partition);
  const std::int64_t capacity = workers_at_once(profile, machine, schedule);
  const auto workers = static_cast<double>(capacity);
  // More workers than the machine has take turns.
  const double busy = std::max(loads.busiest, loads.total / workers);
  const double streaming = std::min(busy, loads.busiest_streaming);
  const RegionBytes bytes = region_bytes(profile, machine, partition, traffic);
  const double rate = memory_rate(profile, machine, std::max<std::int64_t>(1, loads.active));

  Prediction p;
  p.memory_bytes = bytes.stream + bytes.units;
  p.cache_bytes = traffic.cache_bytes;
  p.launch = launch_seconds(profile, machine, capacity);
  p.copying = profile.copying_seconds;
  for (const RunProfile& run : profile.runs) {
    p.arithmetic += static_cast<double>(run.tiles) * run.grid.k *
                    run.time.multiplying(loads.busy_share) / workers;
  }
  p.packing = profile.packing_seconds / workers;
  p.items = loads.total / workers - p.arithmetic - p.packing;
  p.imbalance = busy - loads.total / workers;
  p.fixup =
      fixup_seconds(profile, machine, partition) + streaming_extra(machine, partition, streaming);
  p.memory = std::max(0.0, bytes.stream / rate - streaming) +
             std::max(0.0, bytes.units / rate - (busy - streaming));
  p.seconds = p.launch + p.copying + busy + p.fixup + p.memory;
  return p;
}

double least_seconds(const TileProfile& profile, const Machine& machine, const Schedule& schedule) {
  const Partition partition = partition_of(profile, schedule);
  const std::int64_t workers = workers_at_once(profile, machine, schedule);
  return launch_seconds(profile, machine, workers) + profile.copying_seconds +
         least_load(profile, machine, partition) / static_cast<double>(workers) +
         fixup_seconds(profile, machine, partition);
}

double price_of(const TileProfile& profile, const Schedule& schedule, double seconds) {
  const bool has_claimed_pieces = profile.are_claimed && schedule.kind == ScheduleKind::hybrid;
  return has_claimed_pieces ? seconds / kWorthPieces : seconds;
}

Cost to_cost(const Prediction& p) {
  Cost cost;
  cost.seconds = p.seconds;
  cost.memory_bytes = p.memory_bytes;
  cost.cache_bytes = p.cache_bytes;
  cost.terms = {{"launch", p.launch},   {"copying", p.copying}, {"arithmetic", p.arithmetic},
                {"packing", p.packing}, {"items", p.items},     {"imbalance", p.imbalance},
                {"fix-up", p.fixup},    {"memory", p.memory}};
  std::erase_if(cost.terms, [](const CostTerm& term) { return term.seconds <= 0; });
  return cost;
}

}  // namespace tessera
