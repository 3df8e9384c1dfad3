#include "cpu/run_tiles.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include "core/work.hpp"
#include "cpu/claims.hpp"
#include "cpu/open_tiles.hpp"
#include "cpu/threads.hpp"
#include "cpu/tile_run.hpp"

namespace tessera::cpu {
namespace {

// Where each thread has some 15 µs to do, in tile registers, which lose more by smaller pieces, 50;
// of two or three threads, which are less often unlike, far more. Multiply-adds.
constexpr double kWorkWorthSharing = 1.25e6;
constexpr double kWorkWorthSharingInTileRegisters = 24e6;
constexpr int kFewThreads = 3;
constexpr double kMoreOfFew = 16;

// How long a thread that has nothing to do looks for parts of others' tiles, which a pass from now
// may be there: longer than the units of most (Blocking::unit) take.
constexpr int kMostLooks = 128;
constexpr int kPausesBetween = 64;  // one to three µs; who looks slows down those who work

// The next part to take over; false where there will be none.
bool take_over(OpenTiles& open, TilePart& part) {
  const int looks = most_looks(open.threads(), kMostLooks);
  for (int look = 0; look < looks; ++look) {
    const OpenTiles::Found found = open.take_over(part);
    if (found != OpenTiles::Found::nothing_yet) return found == OpenTiles::Found::part;
    for (int i = 0; i < kPausesBetween; ++i) __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

bool are_tiles_taken(const Plan& plan, const IterationSpace& space) {
  return plan.schedule.kind == ScheduleKind::data_parallel &&
         space.tiles <= std::numeric_limits<std::int32_t>::max();
}

bool is_worth_sharing(const Plan& plan, const KernelCode& code, int threads) {
  if (threads <= 1) return false;
  double work = 0;
  for (const GemmShape& shape : plan.problem.groups) work += multiply_adds(shape);
  const double each = code.rows_together > 0 ? kWorkWorthSharingInTileRegisters : kWorkWorthSharing;
  return work >= threads * each * (threads <= kFewThreads ? kMoreOfFew : 1);
}

void run_tiles(const Launch& launch, const HostIterationSpace& host_space,
               const Partition& partition, int threads, const PanelSizes& sizes,
               Recorder& recorder) {
  const IterationSpace& space = host_space;
  std::optional<OpenTiles> open;
  if (sizes.shares) open.emplace(threads);
  const auto item_of = [&](std::int64_t tile) {
    return whole_tile(space, partition, space.group_of_tile(tile), tile);
  };
  const auto work = [&](Claims& tiles, void* memory) {
    ItemClock clock;
    TileRunner runner(launch, sizes, memory, clock);
    // Their numbers are each thread's own where all have come.
    const bool shares = open && team_size() == threads;
    const int thread = thread_number();
    if (shares) runner.share(*open, thread);
    const std::int32_t track = recorder.join();
    std::int32_t tile = tiles.first();
    for (; tile != Claims::kNone; tile = tiles.next(tile)) {
      const auto [number, worker] = divide(tile, partition.workers);
      clock.begin(recorder.place(static_cast<std::int32_t>(worker), number, track),
                  recorder.origin());
      runner.run_tile(item_of(tile), tile);
      clock.end();
    }
    if (!shares) return;
    open->close(thread);
    for (TilePart part; take_over(*open, part); open->close(thread)) {
      const WorkItem item = item_of(part.tile);
      const auto worker = static_cast<std::int32_t>(part.tile % partition.workers);
      clock.begin(recorder.place_part(worker, item, track), recorder.origin());
      runner.run_part(item, part);
      clock.end();
    }
  };
  share_out(static_cast<std::int32_t>(space.tiles), threads, sizes.total(), work, sizes.shares);
}

}  // namespace tessera::cpu
