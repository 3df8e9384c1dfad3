#include "schedule/simulator.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "schedule/fixup.hpp"
#include "schedule/fixup_meeting.hpp"
#include "schedule/worker_items.hpp"

namespace tessera {
namespace {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a partial sum holds: a stretch of one tile's iterations. Stretches are only ever joined end
// to end, so a sum that is out of order or has a hole cannot be formed.
struct Stretch {
  std::int64_t tile = -1;
  std::int32_t k_begin = 0;
  std::int32_t k_end = 0;
};

struct Slot {
  Stretch content;
  bool needed = false;  // published, and not yet read
};

class Workspace {
 public:
  Workspace(std::int64_t slots, std::int64_t counters)
      : slots_(static_cast<std::size_t>(slots)),
        counters_(static_cast<std::size_t>(counters * kFixupLevels)) {}

  void publish(std::int64_t index, const Stretch& stretch) {
    Slot& slot = at(index);
    if (slot.needed)
      throw Fault("slot " + std::to_string(index) + " overwritten before it was read");
    slot = {stretch, true};
  }
  Stretch look(std::int64_t index) {
    Slot& slot = at(index);
    if (!slot.needed)
      throw Fault("slot " + std::to_string(index) + " read before it was published");
    return slot.content;
  }
  Stretch take(std::int64_t index) {
    const Stretch content = look(index);
    at(index).needed = false;
    return content;
  }
  std::uint32_t& counter(std::int64_t index) {
    if (index < 0 || index >= std::ssize(counters_)) {
      throw Fault("counter " + std::to_string(index) + " outside the workspace");
    }
    return counters_[static_cast<std::size_t>(index)];
  }
  void check_clean() const {
    if (std::ranges::any_of(slots_, &Slot::needed)) throw Fault("a partial tile was never summed");
    if (std::ranges::any_of(counters_, [](std::uint32_t c) { return c != 0; })) {
      throw Fault("an arrival counter was not set back to zero");
    }
  }

 private:
  Slot& at(std::int64_t index) {
    if (index < 0 || index >= std::ssize(slots_)) {
      throw Fault("slot " + std::to_string(index) + " outside the workspace");
    }
    return slots_[static_cast<std::size_t>(index)];
  }
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> counters_;
};

// Equal parts of a tile, as shares of it are counted in: a bit each.
constexpr std::int32_t kPieces = 63;
using PieceSet = std::uint64_t;

// Everything the workers share.
struct World {
  const IterationSpace& space;
  const Partition& partition;
  const Simulation& simulation;
  std::int64_t counters;
  Workspace workspace;
  std::vector<bool> finished;
  std::vector<PieceSet> added;  // pieces of each tile, by those who met
  std::int32_t next_unit;       // that nobody has claimed
  SimulationResult result;

  bool meets_at(const WorkItem& item) const {
    return simulation.meets_from > 1 && item.peers >= simulation.meets_from &&
           has_one_piece_each(partition, space.tiles);
  }

  std::int64_t tile_number(const WorkItem& item) const {
    // The tile order only permutes tiles within a group, so any numbering of the grid serves.
    const GroupExtent& extent = space.groups[item.group];
    if (item.tile_m < 0 || item.tile_m >= extent.grid_m || item.tile_n < 0 ||
        item.tile_n >= extent.grid_n) {
      throw Fault("a tile outside group " + std::to_string(item.group) + "'s grid");
    }
    return extent.first_tile + static_cast<std::int64_t>(item.tile_m) * extent.grid_n + item.tile_n;
  }

  void finish(const WorkItem& item, const Stretch& sum) {
    if (sum.k_begin != 0 || sum.k_end != space.groups[item.group].iterations) {
      throw Fault("tile " + std::to_string(sum.tile) + " finished with iterations [" +
                  std::to_string(sum.k_begin) + ", " + std::to_string(sum.k_end) + ") of " +
                  std::to_string(space.groups[item.group].iterations));
    }
    auto done = finished[static_cast<std::size_t>(sum.tile)];
    if (done) throw Fault("tile " + std::to_string(sum.tile) + " finished twice");
    finished[static_cast<std::size_t>(sum.tile)] = true;
  }
};

// total += term, which must follow it.
void join(Stretch& total, const Stretch& term) {
  if (term.tile != total.tile) throw Fault("a slot holds another tile's partial sum");
  if (term.k_begin != total.k_end) {
    throw Fault("tile " + std::to_string(total.tile) + " summed with a hole or an overlap");
  }
  total.k_end = term.k_end;
}

// One worker, advanced in the steps that other workers' steps may fall between.
class Worker {
 public:
  Worker(World& world, std::int32_t number)
      : world_(world), position_(world.space, world.partition, number), unit_(number) {
    take_item();
  }

  bool done() const { return !item_; }
  std::int64_t iterations() const { return iterations_; }

  void advance() {
    ++world_.result.steps;
    switch (phase_) {
      case Phase::multiply:
        return multiply();
      case Phase::publish:
        return publish();
      case Phase::arrive:
        return arrive();
      case Phase::sum:
        return sum();
      case Phase::meet:
        return meet();
      case Phase::stay:
        return stay();
      case Phase::add:
        return add();
      case Phase::leave:
        return leave();
    }
  }

 private:
  enum class Phase { multiply, publish, arrive, sum, meet, stay, add, leave };

  const WorkItem& item() const { return *item_; }

  // The next of the worker's own, or one that it claims; the first of these has its number.
  void take_item() {
    phase_ = Phase::multiply;
    item_.reset();
    if (world_.partition.units_are_claimed) {
      const std::int64_t units = claimed_units(world_.partition, world_.space.tiles);
      while (!item_ && unit_ < units) {
        const WorkItem claimed = claimed_item(world_.space, world_.partition, unit_);
        if (claimed.peers > 0) item_ = claimed;
        unit_ = world_.next_unit++;
      }
    } else if (position_ != WorkItems::End{}) {
      item_ = *position_;
      ++position_;
    }
  }

  void multiply() {
    iterations_ += item().k_end - item().k_begin;
    sum_ = {world_.tile_number(item()), item().k_begin, item().k_end};
    if (world_.meets_at(item())) {
      publish_in(item().slot(item().peer));
      phase_ = Phase::meet;
      return;
    }
    step_.emplace(item().peer, item().peers);
    continue_or_finish();
  }

  void continue_or_finish() {
    if (step_->valid()) {
      phase_ = Phase::publish;
      return;
    }
    world_.finish(item(), sum_);
    take_item();
  }

  std::uint32_t& counter() {
    return world_.workspace.counter(step_->counter(item(), world_.counters));
  }

  // A peer that finds all others arrived keeps its partial in registers.
  void publish() {
    published_ = counter() != static_cast<std::uint32_t>(step_->children() - 1);
    if (published_) publish_in(item().slot(step_->peer()));
    phase_ = published_ ? Phase::arrive : Phase::sum;
  }

  void publish_in(std::int64_t slot) {
    world_.workspace.publish(slot, sum_);
    ++world_.result.published;
  }

  void arrive() {
    if (++counter() < static_cast<std::uint32_t>(step_->children())) {
      take_item();
      return;
    }
    phase_ = Phase::sum;
  }

  void sum() {
    counter() = 0;
    const auto term = [&](std::int32_t child) {
      const bool mine = child == step_->my_child();
      return mine && !published_ ? sum_ : world_.workspace.take(item().slot(step_->child(child)));
    };
    Stretch total = term(0);
    for (std::int32_t c = 1; c < step_->children(); ++c) join(total, term(c));
    if (total.tile != sum_.tile) throw Fault("a slot holds another tile's partial sum");
    sum_ = total;
    step_->up();
    continue_or_finish();
  }

  // The tile's counter, or with 1 the one of those who have read it.
  std::uint32_t& meeting(std::int64_t number = 0) {
    return world_.workspace.counter(item().counter + number);
  }

  void meet() {
    const FixupMeeting before(meeting());
    const FixupMeeting now = before.with_one_more();
    meeting() = now.bits();
    place_ = before.staying();
    looks_ = 0;
    phase_ = Phase::stay;
    if (now.is_complete(item().peers)) sit_down(now, true);
  }

  void stay() {
    const FixupMeeting now(meeting());
    if (now.is_complete(item().peers)) {
      sit_down(now, false);
    } else if (++looks_ > world_.simulation.patience) {
      meeting() = now.left().bits();
      take_item();
    }
  }

  void sit_down(const FixupMeeting& complete, bool came_last) {
    seat_ = {complete.share_of(place_, came_last), complete.staying()};
    phase_ = Phase::add;
  }

  void add() {
    const auto up_to = [](std::int32_t piece) { return (PieceSet{1} << piece) - 1; };
    const FixupShare& share = seat_.share;
    if (share.parts > 0) {
      add_pieces(up_to(share.end_of(kPieces)) & ~up_to(share.begin_of(kPieces)));
    }
    phase_ = Phase::leave;
  }

  void leave() {
    if (seat_.readers > 0) {
      std::uint32_t& gone = meeting(1);
      gone = gone + 1 == seat_.readers ? 0 : gone + 1;
      if (gone == 0) meeting() = 0;
    }
    take_item();
  }

  void add_pieces(PieceSet mine) {
    if (mine == 0) return;
    Stretch total = world_.workspace.look(item().slot(0));
    for (std::int32_t peer = 1; peer < item().peers; ++peer) {
      join(total, world_.workspace.look(item().slot(peer)));
    }
    PieceSet& added = world_.added[static_cast<std::size_t>(total.tile)];
    if ((added & mine) != 0) throw Fault("a share of a tile was added twice");
    added |= mine;
    if (added != (PieceSet{1} << kPieces) - 1) return;
    for (std::int32_t peer = 0; peer < item().peers; ++peer) {
      world_.workspace.take(item().slot(peer));
    }
    world_.result.shared += static_cast<std::int64_t>(seat_.share.parts > 1);
    world_.finish(item(), total);
  }

  World& world_;
  WorkItems::Iterator position_;
  std::int32_t unit_;  // the next, where units are claimed
  std::optional<WorkItem> item_;
  Phase phase_ = Phase::multiply;
  Stretch sum_;
  std::optional<FixupStep> step_;
  bool published_ = false;
  FixupSeat seat_;
  std::uint32_t place_ = 0;  // of those who stay
  int looks_ = 0;
  std::int64_t iterations_ = 0;
};

std::vector<std::int32_t> start_order(std::int32_t workers, const Simulation& simulation,
                                      std::mt19937_64& random) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(workers));
  for (std::int32_t w = 0; w < workers; ++w) order[static_cast<std::size_t>(w)] = w;
  if (simulation.order == StartOrder::descending) std::ranges::reverse(order);
  if (simulation.order == StartOrder::random) std::ranges::shuffle(order, random);
  return order;
}

void run_workers(World& world, const Simulation& simulation) {
  std::mt19937_64 random(simulation.seed);
  const std::vector<std::int32_t> order = start_order(world.partition.workers, simulation, random);
  const std::size_t limit =
      simulation.resident > 0 ? static_cast<std::size_t>(simulation.resident) : order.size();

  std::vector<std::unique_ptr<Worker>> residents;
  std::size_t started = 0;
  std::size_t turn = 0;
  const auto admit = [&] {
    while (residents.size() < limit && started < order.size()) {
      residents.push_back(std::make_unique<Worker>(world, order[started++]));
    }
  };
  for (admit(); !residents.empty(); admit()) {
    const std::size_t index = (simulation.lock_step ? turn++ : random()) % residents.size();
    Worker& worker = *residents[index];
    if (!worker.done()) worker.advance();
    if (worker.done()) {
      world.result.longest_run = std::max(world.result.longest_run, worker.iterations());
      residents.erase(residents.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
}

}  // namespace

SimulationResult simulate(const IterationSpace& space, const Partition& partition,
                          const Simulation& simulation) {
  // Claimed tiles that stay whole have no slots.
  const std::int64_t shared = space.tiles - partition.whole_tiles;
  World world{space,
              partition,
              simulation,
              arrival_counters(partition, shared),
              Workspace(partial_slots(partition, shared), arrival_counters(partition, shared)),
              std::vector<bool>(static_cast<std::size_t>(space.tiles)),
              std::vector<PieceSet>(static_cast<std::size_t>(space.tiles)),
              partition.workers,
              {}};
  try {
    run_workers(world, simulation);
    world.workspace.check_clean();
    if (!std::ranges::all_of(world.finished, [](bool done) { return done; })) {
      throw Fault("a tile was never finished");
    }
  } catch (const Fault& fault) {
    world.result.fault = fault.what();
  }
  return world.result;
}

}  // namespace tessera
