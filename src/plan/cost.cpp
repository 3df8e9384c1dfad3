#include "plan/cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/operand_copies.hpp"
#include "core/sm90_tiles.hpp"
#include "plan/scratchpad.hpp"
#include "plan/worker_time.hpp"
#include "schedule/division.hpp"
#include "schedule/fixup.hpp"
#include "schedule/partition_of.hpp"

namespace tessera {
namespace {

Partition partition_of(const TileProfile& profile, const Schedule& schedule) {
  return tessera::partition_of(schedule, profile.space(), profile.are_claimed);
}

// How long workers are busy, without the fix-up's tail. Everyone starts with its run of the stream
// region.
struct Loads {
  double busiest = 0;
  double busiest_streaming = 0;  // of it, in the stream region
  double total = 0;
  std::int64_t active = 0;  // workers with anything to do
};

// Writing a partial tile into the workspace and making it visible, against reading one: H200,
// 2026-11.
constexpr double kPublishing = 1.9;

double publish_seconds(const TileProfile& profile, const Machine& machine) {
  return machine.cost.split_seconds +
         kPublishing * machine.cost.peer_seconds_per_byte * profile.partial_bytes;
}

// Additions of a tile of `peers` pieces, per piece.
double mean_addition_seconds(const TileProfile& profile, const Machine& machine,
                             std::int64_t peers) {
  return (1 - 1 / static_cast<double>(peers)) * machine.cost.peer_seconds_per_byte *
         profile.partial_bytes;
}

// Whether a worker stores one tile while it multiplies the next. Seen of whole tiles alone: pieces
// also wait for each other's partials.
bool overlaps(const TileProfile& profile, const Partition& partition, std::int64_t pieces) {
  return profile.in_turns && pieces == 1 && partition.stream_iterations == 0;
}

// What each tile takes besides where two warpgroups take them in turns: H200, 2026-11.
constexpr double kHandOver = 0.1e-6;

// What a unit of `seconds`, of which it multiplies for `multiplying`, adds to those before it.
double pace_of(const RunProfile& run, double seconds, double multiplying, bool overlaps,
               double share) {
  if (!overlaps) return seconds;
  return kHandOver + std::max({multiplying, seconds / 2, run.time.shared_storing * share});
}

// A unit of a run's tiles: a whole tile, or one of so many pieces. The last piece of a tile to
// arrive finishes it; the others' shares of that are in fixup_seconds.
struct Unit {
  double seconds = 0;
  double pace = 0;  // what it adds to those before it
};

Unit unit_of(const TileProfile& profile, const Machine& machine, const Partition& partition,
             const RunProfile& run, std::int64_t pieces, double share) {
  const auto depth = static_cast<double>(ceil_div(run.grid.k, pieces));
  // Each piece is published and, but for one of a tile, added.
  const double publish = pieces > 1 ? publish_seconds(profile, machine) +
                                          mean_addition_seconds(profile, machine, pieces)
                                    : 0;
  const double multiplying = depth * run.time.iteration(share);
  const double unit = machine.cost.tile_seconds + multiplying + publish +
                      run.time.finish / static_cast<double>(pieces);
  return {unit, pace_of(run, unit, multiplying, overlaps(profile, partition, pieces), share)};
}

// The units behind the stream region, by turns; the last of claimed tiles, which come in pieces,
// each to who is free first.
void deal_units(const TileProfile& profile, const Machine& machine, const Partition& partition,
                double share, std::vector<double>& load) {
  const std::int64_t workers = partition.workers;
  std::int64_t skip = partition.stream_tiles;
  std::int64_t whole = partition.whole_tiles;
  std::int64_t next = 0;  // the worker whose turn it is
  double everyone = 0;
  double last = 0;  // of a worker's units in turns: what no other hides
  const auto by_turns = [&](const RunProfile& run, std::int64_t tiles, std::int64_t pieces) {
    if (tiles == 0) return;
    const Unit unit = unit_of(profile, machine, partition, run, pieces, share);
    last = std::max(last, unit.seconds - unit.pace);
    everyone += static_cast<double>(tiles * pieces / workers) * unit.pace;
    for (std::int64_t left = tiles * pieces % workers; left > 0; --left) {
      load[static_cast<std::size_t>(next)] += unit.pace;
      next = next + 1 == workers ? 0 : next + 1;
    }
  };
  const auto to_the_first_free = [&](const RunProfile& run, std::int64_t tiles,
                                     std::int64_t pieces) {
    if (tiles == 0) return;
    const Unit unit = unit_of(profile, machine, partition, run, pieces, share);
    // Who a worker is does not matter any more.
    std::ranges::make_heap(load, std::greater{});
    for (std::int64_t left = tiles * pieces; left > 0; --left) {
      std::ranges::pop_heap(load, std::greater{});
      load.back() += unit.pace;
      std::ranges::push_heap(load, std::greater{});
    }
  };
  for (const RunProfile& run : profile.runs) {
    const std::int64_t in_stream = std::min(skip, run.tiles);
    const std::int64_t kept_whole = std::min(whole, run.tiles - in_stream);
    const std::int64_t rest = run.tiles - in_stream - kept_whole;
    const std::int64_t pieces = std::min<std::int64_t>(partition.splits, run.grid.k);
    skip -= in_stream;
    whole -= kept_whole;
    by_turns(run, kept_whole, 1);
    if (claims_units(partition)) {
      to_the_first_free(run, rest, pieces);
    } else {
      by_turns(run, rest, pieces);
    }
  }
  for (double& seconds : load) {
    seconds += everyone;
    if (seconds > 0) seconds += last;
  }
}

// One run of the line per worker.
void cut_stream(const TileProfile& profile, const Machine& machine, const Partition& partition,
                double share, std::vector<double>& load) {
  if (partition.stream_iterations == 0) return;
  const double publish = publish_seconds(profile, machine);
  std::size_t at = 0;          // the run of equal products ...
  std::int64_t run_start = 0;  // ... and where it starts on the line
  for (std::int64_t worker = 0; worker < partition.workers; ++worker) {
    std::int64_t position = partition.run_begin(worker);
    const std::int64_t end = partition.run_begin(worker + 1);
    while (position < end) {
      const RunProfile& run = profile.runs[at];
      const std::int64_t run_end = run_start + run.tiles * run.grid.k;
      if (position >= run_end) {
        run_start = run_end;
        ++at;
        continue;
      }
      const std::int64_t piece_end = std::min(end, run_end);
      const std::int64_t from = position - run_start;
      const std::int64_t to = piece_end - run_start;
      const std::int64_t items = (to - 1) / run.grid.k - from / run.grid.k + 1;
      const int partials =
          static_cast<int>(from % run.grid.k != 0) +
          static_cast<int>(to % run.grid.k != 0 && (items > 1 || from % run.grid.k == 0));
      const auto iterations = static_cast<double>(to - from);
      load[static_cast<std::size_t>(worker)] +=
          static_cast<double>(items) * machine.cost.tile_seconds +
          iterations * (run.time.iteration(share) + run.time.finish / run.grid.k) +
          partials * publish;
      position = piece_end;
    }
  }
}

// Share of the machine's workers that have anything to do at first.
double busy_share(const TileProfile& profile, const Machine& machine, const Partition& partition) {
  const std::int64_t units = partition.stream_iterations > 0
                                 ? partition.stream_iterations
                                 : claimed_units(partition, profile.tiles);
  const std::int64_t busy = std::min<std::int64_t>(units, partition.workers);
  return std::min(1.0, static_cast<double>(busy * profile.blocks_per_worker) / machine.workers);
}

Loads loads_of(const TileProfile& profile, const Machine& machine, const Partition& partition) {
  std::vector<double> seconds(static_cast<std::size_t>(partition.workers));
  Loads loads;
  const double share = busy_share(profile, machine, partition);
  cut_stream(profile, machine, partition, share, seconds);
  for (const double each : seconds) {
    loads.busiest_streaming = std::max(loads.busiest_streaming, each);
  }
  deal_units(profile, machine, partition, share, seconds);
  for (const double each : seconds) {
    loads.busiest = std::max(loads.busiest, each);
    loads.total += each;
    loads.active += static_cast<std::int64_t>(each > 0);
  }
  return loads;
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

// Where the operands of a call come from. A CPU's are taken to be in the shared cache if they fit;
// a GPU's come from memory, because a program's other kernels have swept its cache since.
double memory_rate(const TileProfile& profile, const Machine& machine, std::int64_t active) {
  const double workers = static_cast<double>(
      std::min<std::int64_t>(active * profile.blocks_per_worker, machine.workers));
  if (machine.kind == MachineKind::cpu &&
      profile.footprint_bytes <= static_cast<double>(machine.cache_bytes)) {
    return workers * worker_cache_rate(machine);
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

double launch_seconds(const TileProfile& profile, const Machine& machine, std::int64_t workers) {
  const bool forks = machine.kind == MachineKind::gpu || workers > 1;
  return forks ? machine.cost.launch_seconds + profile.extra_launch_seconds : 0;
}

// Workers of a schedule that run at a time.
std::int64_t workers_at_once(const TileProfile& profile, const Machine& machine,
                             const Schedule& schedule) {
  return std::max<std::int64_t>(
      1, std::min<std::int64_t>(schedule.workers, machine.workers / profile.blocks_per_worker));
}

// A kernel before the product's that copies operands: its start, and a pass over them.
constexpr double kCopyLaunch = 2.5e-6;

double copying_seconds(const std::vector<ShapeRun>& runs, const Problem& problem,
                       const Machine& machine, const KernelEntry* kernel) {
  const OperandCopies copies = kernel != nullptr ? copies_of(*kernel, problem) : OperandCopies{};
  if (!copies.any()) return 0;
  double bytes = 0;
  for (const ShapeRun& run : runs) {
    bytes += static_cast<double>(run.count) * bytes_to_copy(copies, problem, run.shape);
  }
  return kCopyLaunch + 2 * bytes / machine.memory_bytes_per_second;
}

// Rows and columns beyond an operand's edge are not fetched.
double bytes_in_flight(const GemmShape& shape, const Problem& problem, const TileConfig& tile) {
  const auto rows = static_cast<double>(std::min<std::int64_t>(shape.m, tile.block_m));
  const auto cols = static_cast<double>(std::min<std::int64_t>(shape.n, tile.block_n));
  return tile.stages * tile.block_k *
         (rows / tile.cluster_m * size_of(problem.types.a) +
          cols / tile.cluster_n * size_of(problem.types.b));
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

TileProfile profile_tiles(const std::vector<ShapeRun>& runs, const Problem& problem,
                          const Machine& machine, const TileConfig& tile,
                          const KernelEntry* kernel) {
  TileProfile profile;
  profile.blocks_per_worker = tile.cluster_m * tile.cluster_n;
  profile.in_turns = takes_turns(tile);
  profile.are_claimed = kernel != nullptr && claims_tiles(*kernel, problem);
  profile.partial_bytes =
      static_cast<double>(accumulator_bytes(tile, problem.types)) / profile.blocks_per_worker;
  if (kernel != nullptr) profile.extra_launch_seconds = kernel->speed.launch_seconds;
  profile.copying_seconds = copying_seconds(runs, problem, machine, kernel);
  profile.runs.reserve(runs.size());
  profile.line.reserve(runs.size());
  const double footprint = footprint_bytes(runs, problem);
  profile.footprint_bytes = footprint;
  const double all_seconds = peak_seconds(runs, problem, machine);
  for (const ShapeRun& run : runs) {
    const GroupExtent extent =
        make_extent(run.shape.m, run.shape.n, run.shape.k, tile.block_m, tile.block_n, tile.block_k,
                    profile.tiles, profile.iterations);
    if (extent.tiles() == 0) continue;
    profile.line.push_back(extent);
    RunProfile each;
    each.run = run;
    each.grid = {extent.grid_m, extent.grid_n, extent.iterations};
    each.tiles = extent.tiles() * run.count;
    each.time = machine.kind == MachineKind::gpu
                    ? time_on_gpu(run.shape, problem, machine, tile, kernel, all_seconds)
                    : time_on_cpu(run.shape, each.grid, problem, machine, tile, kernel, footprint);
    const std::int64_t iterations = each.tiles * each.grid.k;
    profile.bytes_in_flight =
        std::max(profile.bytes_in_flight, bytes_in_flight(run.shape, problem, tile));
    profile.tiles += each.tiles;
    profile.iterations += iterations;
    profile.packing_seconds += static_cast<double>(iterations) * each.time.packing;
    profile.most_iterations = std::max<std::int64_t>(profile.most_iterations, each.grid.k);
    profile.runs.push_back(each);
  }
  return profile;
}

Traffic traffic_of(const TileProfile& profile, const Problem& problem, const Machine& machine,
                   TileOrderChoice order, int workers) {
  Traffic sum;
  for (const RunProfile& run : profile.runs) {
    const Traffic traffic = estimate_traffic(run.run, run.grid, problem, order, workers, machine);
    sum.memory_bytes += traffic.memory_bytes;
    sum.cache_bytes += traffic.cache_bytes;
    sum.scattered_bytes += traffic.scattered_bytes;
  }
  return sum;
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
  const double share = busy_share(profile, machine, partition);
  for (const RunProfile& run : profile.runs) {
    p.arithmetic +=
        static_cast<double>(run.tiles) * run.grid.k * run.time.multiplying(share) / workers;
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
  const double share = busy_share(profile, machine, partition);
  double work = 0;
  for (const RunProfile& run : profile.runs) {
    if (run.grid.k == 0) continue;
    const std::int64_t pieces = claims_units(partition) ? 1 : partition.splits;
    const double multiplying = run.grid.k * run.time.iteration(share);
    const double unit = machine.cost.tile_seconds + multiplying + run.time.finish;
    work += static_cast<double>(run.tiles) *
            pace_of(run, unit, multiplying, overlaps(profile, partition, pieces), share);
  }
  const std::int64_t workers = workers_at_once(profile, machine, schedule);
  return launch_seconds(profile, machine, workers) + profile.copying_seconds +
         work / static_cast<double>(workers) + fixup_seconds(profile, machine, partition);
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
