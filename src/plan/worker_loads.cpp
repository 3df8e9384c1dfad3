#include "plan/worker_loads.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera {
namespace {

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

// What each tile takes besides where two warpgroups take them in turns, and among several products,
// whose records and tensor maps it has to wait for; fitted to 182 random lists of groups.
// H200, 2026-11.
constexpr double kHandOver = 0.1e-6;
constexpr double kHandOverOfGroups = 1.6e-6;
constexpr double kTileOfGroups = 0.7e-6;

// What a unit of `seconds`, of which it multiplies for `multiplying`, adds to those before it.
double pace_of(const TileProfile& profile, const RunProfile& run, double seconds,
               double multiplying, bool overlaps, double share) {
  if (!overlaps) return seconds;
  return (profile.has_records ? kHandOverOfGroups : kHandOver) +
         std::max({multiplying, seconds / 2, run.time.shared_storing * share});
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
  const double unit = machine.cost.tile_seconds + (profile.has_records ? kTileOfGroups : 0) +
                      multiplying + publish + run.time.finish / static_cast<double>(pieces);
  return {unit,
          pace_of(profile, run, unit, multiplying, overlaps(profile, partition, pieces), share)};
}

// The units behind the stream region, by turns; the last of claimed tiles, which come in pieces
// behind whole ones, each to who is free first. The pieces of split_k are claimed likewise, but
// priced as whole tiles are, as if they were dealt (docs/grouped.md).
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
    if (partition.whole_tiles > 0) {
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

}  // namespace

Loads loads_of(const TileProfile& profile, const Machine& machine, const Partition& partition) {
  std::vector<double> seconds(static_cast<std::size_t>(partition.workers));
  Loads loads;
  loads.busy_share = busy_share(profile, machine, partition);
  cut_stream(profile, machine, partition, loads.busy_share, seconds);
  for (const double each : seconds) {
    loads.busiest_streaming = std::max(loads.busiest_streaming, each);
  }
  deal_units(profile, machine, partition, loads.busy_share, seconds);
  for (const double each : seconds) {
    loads.busiest = std::max(loads.busiest, each);
    loads.total += each;
    loads.active += static_cast<std::int64_t>(each > 0);
  }
  return loads;
}

double least_load(const TileProfile& profile, const Machine& machine, const Partition& partition) {
  const double share = busy_share(profile, machine, partition);
  double work = 0;
  for (const RunProfile& run : profile.runs) {
    if (run.grid.k == 0) continue;
    const std::int64_t pieces = partition.whole_tiles > 0 ? 1 : partition.splits;
    const double multiplying = run.grid.k * run.time.iteration(share);
    const double unit = machine.cost.tile_seconds + multiplying + run.time.finish;
    work += static_cast<double>(run.tiles) *
            pace_of(profile, run, unit, multiplying, overlaps(profile, partition, pieces), share);
  }
  return work;
}

}  // namespace tessera
