#include "cuda/launch_trace.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/check.hpp"
#include "schedule/traced_item.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

// What the device wrote, on the host.
struct Records {
  std::vector<BlockRecord> blocks;
  std::vector<ItemRecord> items;  // (blocks, room + 1)
  std::int64_t room = 0;

  // Of a block, in the order of time.
  std::vector<ItemRecord> of(std::size_t block) const {
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(block) * (room + 1);
    return {first, first + std::min<std::int64_t>(blocks[block].items, room)};
  }
};

// Cycles of the blocks' SMs as seconds since the first block began.
class Clock {
 public:
  explicit Clock(const std::vector<BlockRecord>& blocks) : blocks_(blocks) {
    // `begin` and `end` were both read somewhere within a tick; over all blocks that averages out.
    double nanoseconds = 0;
    double cycles = 0;
    for (const BlockRecord& block : blocks) {
      nanoseconds += static_cast<double>(block.end.nanoseconds - block.begin.nanoseconds);
      cycles += static_cast<double>(block.end.cycles - block.begin.cycles);
    }
    if (cycles > 0) nanoseconds_per_cycle_ = nanoseconds / cycles;
    zero_ = blocks.empty() ? 0 : blocks.front().edge.nanoseconds;
    double earliest = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      earliest = std::min(earliest, nanoseconds_of(b, blocks[b].begin.cycles));
    }
    earliest_ = earliest;
  }

  double seconds(std::size_t block, std::int64_t cycles) const {
    return (nanoseconds_of(block, cycles) - earliest_) * 1e-9;
  }

 private:
  double nanoseconds_of(std::size_t block, std::int64_t cycles) const {
    const ClockPair& edge = blocks_[block].edge;
    const auto since_zero = static_cast<std::int64_t>(edge.nanoseconds - zero_);
    return static_cast<double>(since_zero) +
           static_cast<double>(cycles - edge.cycles) * nanoseconds_per_cycle_;
  }

  const std::vector<BlockRecord>& blocks_;
  double nanoseconds_per_cycle_ = 0;
  std::uint64_t zero_ = 0;
  double earliest_ = 0;
};

TracedItem traced(const ItemRecord& record, std::size_t block, int part, bool transposed,
                  const Clock& clock) {
  TracedItem item = traced_item(record.worker, record.item);
  item.part = part;
  if (transposed) std::swap(item.tile_m, item.tile_n);
  item.start = clock.seconds(block, record.start);
  item.multiplied = clock.seconds(block, record.multiplied);
  item.end = clock.seconds(block, record.end);
  item.data_seconds = clock.seconds(block, record.start + record.waited) - item.start;
  item.wrote_tile = record.item.peers == 1;
  return item;
}

// Of the pieces of a tile the last to arrive adds the others and writes: it ends last by far.
void mark_writers(Trace& trace) {
  std::map<std::tuple<int, int, int, int>, TracedItem*> last;
  for (std::vector<TracedItem>& track : trace.tracks) {
    for (TracedItem& item : track) {
      TracedItem*& found = last[{item.group, item.tile_m, item.tile_n, item.part}];
      if (found == nullptr || item.end > found->end) found = &item;
    }
  }
  for (auto& [tile, item] : last) item->wrote_tile = true;
}

// One track for each SM, or several where blocks ran on it side by side or a block has two items in
// turns.
void fill(Trace& trace, const Records& records, const TracedLaunch& launch) {
  const Clock clock(records.blocks);
  std::vector<std::size_t> order(records.blocks.size());
  for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
  const auto begin = [&](std::size_t b) {
    return clock.seconds(b, records.blocks[b].begin.cycles);
  };
  std::ranges::sort(order, [&](std::size_t p, std::size_t q) {
    return std::pair(records.blocks[p].sm, begin(p)) < std::pair(records.blocks[q].sm, begin(q));
  });
  trace = {};
  std::vector<double> busy_until;
  for (const std::size_t b : order) {
    const BlockRecord& block = records.blocks[b];
    const double end = clock.seconds(b, block.end.cycles);
    trace.seconds = std::max(trace.seconds, end);
    std::size_t track = 0;
    while (track < trace.tracks.size() &&
           (trace.sms[track] != block.sm || busy_until[track] > begin(b))) {
      track += launch.items_at_once;
    }
    if (track == trace.tracks.size()) {
      trace.tracks.resize(track + launch.items_at_once);
      trace.sms.resize(track + launch.items_at_once, block.sm);
      busy_until.resize(track + launch.items_at_once);
    }
    busy_until[track] = end;
    const int part = static_cast<int>(b) % launch.blocks_per_worker;
    std::size_t turn = 0;
    for (const ItemRecord& record : records.of(b)) {
      trace.tracks[track + turn].push_back(traced(record, b, part, launch.transposed, clock));
      turn = (turn + 1) % launch.items_at_once;
    }
  }
  mark_writers(trace);
}

}  // namespace

LaunchTrace::LaunchTrace(Trace* trace, const TracedLaunch& launch, cudaStream_t stream)
    : trace_(trace), launch_(launch), stream_(stream) {
  if (trace_ == nullptr) return;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "asking whether the stream is captured");
  if (capture != cudaStreamCaptureStatusNone) {
    throw Error(ErrorCode::unsupported, "options.trace", "be null while a stream is captured",
                "a trace", "trace the product outside the graph");
  }
  const auto blocks = static_cast<std::size_t>(launch.workers * launch.blocks_per_worker);
  const auto items = blocks * static_cast<std::size_t>(launch.items_per_worker + 1);
  const std::size_t head = blocks * sizeof(BlockRecord);
  const std::size_t bytes = head + items * sizeof(ItemRecord);
  memory_ = DeviceMemory(bytes, stream);
  space_ = {.blocks = reinterpret_cast<BlockRecord*>(memory_.data()),
            .items = reinterpret_cast<ItemRecord*>(memory_.data() + head),
            .items_per_block = static_cast<std::int32_t>(launch.items_per_worker)};
  check(cudaMemsetAsync(memory_.data(), 0, bytes, stream), "clearing the trace's records");
}

void LaunchTrace::finish() {
  if (trace_ == nullptr) return;
  Records records;
  records.room = space_.items_per_block;
  records.blocks.resize(static_cast<std::size_t>(launch_.workers * launch_.blocks_per_worker));
  records.items.resize(records.blocks.size() * static_cast<std::size_t>(records.room + 1));
  check(
      cudaMemcpyAsync(records.blocks.data(), space_.blocks,
                      records.blocks.size() * sizeof(BlockRecord), cudaMemcpyDeviceToHost, stream_),
      "fetching the trace's blocks");
  check(cudaMemcpyAsync(records.items.data(), space_.items,
                        records.items.size() * sizeof(ItemRecord), cudaMemcpyDeviceToHost, stream_),
        "fetching the trace's items");
  check(cudaStreamSynchronize(stream_), "waiting for the traced run");
  fill(*trace_, records, launch_);
}

std::int64_t most_items(const IterationSpace& space, const Partition& partition) {
  std::int64_t most = 0;
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    std::int64_t items = 0;
    for (const WorkItem& item : items_of(space, partition, worker)) items += item.peers > 0 ? 1 : 0;
    most = std::max(most, items);
  }
  return most;
}

}  // namespace tessera::cuda
