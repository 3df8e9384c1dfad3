// A schedule as a chart sees it: for each worker its items end to end, in MAC iterations, and for
// each shared tile who hands its partial sum to whom, or when its peers have met. Assumes that all
// workers start together and that every iteration takes equally long.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/fix_up_of.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "schedule/work_item.hpp"

namespace tessera::report {

struct PlacedItem {
  WorkItem item;
  double begin = 0;  // iterations that the worker has done before
  double end = 0;
  int tile = 0;  // numbers the shared tiles in the order they are met; -1 for a whole tile
};

struct ScheduleRow {
  std::int32_t worker = 0;
  std::vector<PlacedItem> items;
  // Whole tiles that follow those listed, and where the row ends with them.
  std::int64_t more_tiles = 0;
  double end = 0;
};

// A partial sum that goes from the end of one row's item to the end of another's, which adds it.
struct HandOver {
  int tile = 0;
  std::size_t from_row = 0;
  std::size_t to_row = 0;
  double published = 0;
  double added = 0;
};

// A shared tile whose peers stay, from the ends of their items on, until all of them have come.
struct Meeting {
  struct Peer {
    std::size_t row = 0;
    double published = 0;
  };

  int tile = 0;
  std::vector<Peer> peers;
  double complete = 0;
};

struct ScheduleRows {
  std::vector<ScheduleRow> rows;
  std::vector<HandOver> hand_overs;  // in trees
  std::vector<Meeting> meetings;
  double stream_end = 0;  // where the longest run of the stream region ends
};

// The rows of the workers [first, first + count), no more than `most_items` items of each.
ScheduleRows schedule_rows(const IterationSpace& space, const Partition& partition, FixUp fix_up,
                           std::int32_t first, std::int32_t count, std::size_t most_items);

// What the whole schedule comes to.
struct ScheduleFacts {
  double longest = 0;     // iterations of the busiest worker
  double busy_share = 0;  // of workers × longest
  std::int64_t shared_tiles = 0;
  std::int64_t most_peers = 1;  // of any tile
  std::int64_t waves = 0;       // of data-parallel whole tiles, were all tiles whole
  std::int64_t last_wave = 0;   // tiles in the last of them
};

ScheduleFacts schedule_facts(const IterationSpace& space, const Partition& partition);

}  // namespace tessera::report
