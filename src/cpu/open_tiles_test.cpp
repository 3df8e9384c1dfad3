// Tiles that several threads share: each unit is computed once in each pass, and the bits of C are
// those of one thread, whatever others took over.
#include "cpu/open_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu/tile_run.hpp"
#include "schedule/grouped.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"
#include "tessera/packed.hpp"

namespace tessera {
namespace {

using cpu::OpenTiles;
using cpu::TilePart;
using test::Fill;
using test::Kernels;
using test::Placement;
using test::plan_for;
using test::Product;
using test::types_of;
using Found = cpu::OpenTiles::Found;

TEST(OpenTiles, GivesHalfOfWhatIsLeftToItsThreadAndToAnother) {
  OpenTiles tiles(2);
  tiles.close(1);
  tiles.open_own(0, 7, 10);
  int first = -1;
  EXPECT_EQ(tiles.take(0, 10, first), 5);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(tiles.take(0, 1, first), 1);
  EXPECT_EQ(first, 5);

  TilePart part;
  ASSERT_EQ(tiles.take_over(part), Found::part);
  EXPECT_EQ(part, (TilePart{7, 0, 8, 10}));
  EXPECT_EQ(tiles.end(0), 8);
  EXPECT_EQ(tiles.take(0, 10, first), 1);
  EXPECT_EQ(tiles.take(0, 10, first), 1);
  EXPECT_EQ(first, 7);
  EXPECT_EQ(tiles.take(0, 10, first), 0);
}

TEST(OpenTiles, HandsOverTheLaterPassesToo) {
  OpenTiles tiles(2);
  tiles.close(1);
  tiles.open_own(0, 3, 4);
  int first = -1;
  while (tiles.take(0, 4, first) > 0) continue;
  TilePart part;
  EXPECT_EQ(tiles.take_over(part), Found::nothing_yet);
  tiles.start_pass(0, 0);
  ASSERT_EQ(tiles.take_over(part), Found::part);
  EXPECT_EQ(part, (TilePart{3, 1, 2, 4}));
  while (tiles.take(0, 4, first) > 0) continue;
  EXPECT_EQ(first, 1);
  tiles.start_pass(0, 0);
  EXPECT_EQ(tiles.end(0), 2);

  // The last one, too, and then nothing is left of any later pass.
  ASSERT_EQ(tiles.take_over(part), Found::part);
  ASSERT_EQ(tiles.take_over(part), Found::part);
  EXPECT_EQ(part, (TilePart{3, 2, 0, 1}));
  EXPECT_EQ(tiles.take(0, 4, first), 0);
  tiles.start_pass(0, 0);
  EXPECT_EQ(tiles.take(0, 4, first), 0);
}

TEST(OpenTiles, KnowsWhetherAnythingMayStillCome) {
  OpenTiles tiles(3);
  TilePart part;
  tiles.close(0);
  EXPECT_EQ(tiles.take_over(part), Found::nothing_yet);  // two have not come
  tiles.close(1);
  tiles.close(2);
  EXPECT_EQ(tiles.take_over(part), Found::nothing);
}

TEST(OpenTiles, FindsTheSumsOfATile) {
  OpenTiles tiles(3);
  unsigned char sums[3] = {};
  for (int thread = 0; thread < 3; ++thread) {
    tiles.collect_in(thread, sums + thread);
    tiles.open_own(thread, 4 + static_cast<std::uint32_t>(thread), 2);
  }
  tiles.open(2, {5, 0, 1, 2});  // took over from the second
  EXPECT_EQ(tiles.sums_of(5), sums + 1);
  EXPECT_EQ(tiles.sums_of(6), sums + 2);
}

TEST(OpenTiles, EachUnitIsComputedOnceInEachPassAndInTheirOrder) {
  constexpr int kThreads = 4;
  constexpr int kUnits = 200;
  constexpr int kPasses = 20;
  OpenTiles tiles(kThreads);
  // Of each unit the next pass, without any order but what handing over gives.
  std::vector<int> pass_of(kUnits, 0);
  std::atomic<int> wrong{0};
  const auto walk = [&](int thread, const TilePart& part) {
    for (int pass = part.pass; pass < kPasses; ++pass) {
      if (pass > part.pass) tiles.start_pass(thread, part.begin);
      int first = 0;
      for (int count = 0; (count = tiles.take(thread, 3, first)) > 0;) {
        for (int unit = first; unit < first + count; ++unit) {
          if (pass_of[static_cast<std::size_t>(unit)]++ != pass) ++wrong;
        }
      }
    }
    tiles.close(thread);
  };
  const auto help = [&](int thread) {
    tiles.close(thread);
    TilePart part;
    for (;;) {
      const Found found = tiles.take_over(part);
      if (found == Found::nothing) return;
      if (found == Found::nothing_yet) {
        std::this_thread::yield();
        continue;
      }
      tiles.open(thread, part);
      walk(thread, part);
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 1; thread < kThreads; ++thread) threads.emplace_back(help, thread);
  tiles.open_own(0, 0, kUnits);
  walk(0, {0, 0, 0, kUnits});
  help(0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(pass_of, std::vector<int>(kUnits, kPasses));
}

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

using Clock = std::chrono::steady_clock;

// A product of one tile, computed by one thread, while another takes over what it can after a
// while. How often it could.
int run_shared(const Plan& plan, const Operands& operands, Clock::duration after) {
  const cpu::KernelCode& code = *cpu::find_code(plan.kernel);
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  const Partition partition = make_partition(plan.schedule, space);
  cpu::Launch launch{plan, code, {&operands, 1}, {}};
  launch.sharers = 4;
  const cpu::PanelSizes sizes = cpu::panel_sizes(launch);
  EXPECT_TRUE(sizes.shares);
  OpenTiles open(2);
  const WorkItem item = whole_tile(space, partition, 0, 0);
  std::atomic<bool> has_come{false};
  int parts = 0;
  std::thread other([&] {
    const std::unique_ptr<void, Freed> memory(cpu::allocate_pages(sizes.total() + 1));
    cpu::ItemClock clock;
    cpu::TileRunner runner(launch, sizes, memory.get(), clock);
    runner.share(open, 1);
    open.close(1);
    has_come = true;
    for (const auto start = Clock::now(); Clock::now() - start < after;) std::this_thread::yield();
    for (TilePart part;; open.close(1)) {
      Found found = Found::nothing_yet;
      while ((found = open.take_over(part)) == Found::nothing_yet) std::this_thread::yield();
      if (found == Found::nothing) return;
      runner.run_part(item, part);
      ++parts;
    }
  });
  while (!has_come) std::this_thread::yield();
  const std::unique_ptr<void, Freed> memory(cpu::allocate_pages(sizes.total() + 1));
  cpu::ItemClock clock;
  cpu::TileRunner runner(launch, sizes, memory.get(), clock);
  runner.share(open, 0);
  runner.run_tile(item, 0);
  open.close(0);
  other.join();
  return parts;
}

// The widest piece of a shared tile, its last unit, is packed into a thread's panels: 27×3776×1199
// in f64 under tiles of 36×240×152 once had room for 96 of 112 columns.
TEST_P(Kernels, UnitsOfSharedTilesFitTheirPanels) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  std::mt19937 random(5);
  const auto upto = [&](int most) { return 1 + static_cast<std::int64_t>(random() % most); };
  for (int i = 0; i < 3000; ++i) {
    const GemmShape shape =
        i == 0 ? GemmShape{27, 3776, 1199} : GemmShape{upto(300), upto(4000), upto(2000)};
    const test::Blocks blocks =
        i == 0 ? test::Blocks{36, 240, 152}
               : test::Blocks{upto(10) * code.mr, upto(20) * code.nr, upto(60) * 16};
    Plan plan = plan_for(kernel(), types_of(kernel()), shape, blocks, Schedule{});
    plan.tile.a_in_place = code.reads_in_place && random() % 2 == 0;
    const Operands operands = {{nullptr, shape.m, shape.k, shape.k, 1, plan.problem.types.a},
                               {nullptr, shape.k, shape.n, shape.n, 1, plan.problem.types.b},
                               {nullptr, shape.m, shape.n, shape.n, 1, plan.problem.types.c},
                               {},
                               nullptr};
    cpu::Launch launch{plan, code, {&operands, 1}, {}};
    launch.sharers = 16;
    const cpu::Product product = cpu::product_of(operands, plan, code);
    const cpu::Blocking blocking = cpu::blocking_of(launch, product);
    if (blocking.unit == 0 || blocking.passes || product.b_in_place) continue;
    const auto block_cols = static_cast<std::int64_t>(product.block_cols());
    std::int64_t widest = block_cols;
    if (blocking.units_are_cols) {
      widest = std::min(block_cols, std::max(blocking.cols, 2 * blocking.unit - 1));
    } else if (!blocking.keeps_b) {
      widest = std::min(block_cols, blocking.cols);
    }
    const std::int64_t panels = (widest + product.code->nr - 1) / product.code->nr;
    ASSERT_GE(cpu::panel_sizes(launch).b,
              static_cast<std::size_t>(panels * product.code->panel_bytes_b(blocking.depth)))
        << shape.m << "×" << shape.n << "×" << shape.k << ", " << blocks.block_m << "×"
        << blocks.block_n << "×" << blocks.block_k;
  }
}

// Units of rows would each read all of a B that was packed before the call.
TEST_P(Kernels, ColumnsOfWhatWasPackedAreUnits) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  for (const std::int64_t rows : {40, 200}) {
    const GemmShape shape = {rows, 3000, 600};
    Plan plan =
        plan_for(kernel(), types_of(kernel()), shape, {shape.m, shape.n, shape.k}, Schedule{});
    plan.tile.a_in_place = plan.tile.b_in_place = false;
    Product product(plan.problem.types, {1, shape.n, shape.k}, 0, Fill::normal, 3);
    Operands operands = product.operands();
    operands.a.rows = operands.c.rows = rows;
    const PackedMatrix packed = pack_b(plan, operands.b);
    for (const bool was_packed : {false, true}) {
      operands.packed_b = was_packed ? &packed : nullptr;
      cpu::Launch launch{plan, code, {&operands, 1}, {}};
      launch.sharers = 2;
      const cpu::Blocking blocking =
          cpu::blocking_of(launch, cpu::product_of(operands, plan, code));
      const bool is_narrow = code.rows_together > 0 && code.packed_size_a <= 4;
      EXPECT_EQ(blocking.units_are_cols, was_packed && (rows == 40 || !is_narrow)) << rows;
      // As many as there can be, and not as many: a vocabulary is as wide.
      operands.b.cols = operands.c.cols = 1 << 20;
      plan.tile.block_n = 1 << 20;
      const cpu::Product wide = cpu::product_of(operands, plan, code);
      const cpu::Units units =
          units_of(wide, cpu::blocking_of(launch, wide), {0, 0, rows, operands.c.cols});
      EXPECT_LE(units.count, cpu::OpenTiles::kMostUnits);
      operands.b.cols = operands.c.cols = shape.n;
      plan.tile.block_n = static_cast<int>(shape.n);
    }
  }
}

TEST_P(Kernels, SharedTilesKeepTheirBits) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  // Three blocks of k; of tile registers more is handed over together.
  const bool has_tile_registers = code.rows_together > 0;
  // Plain C++ takes its time, above all where a sanitizer watches.
  const bool is_slow = kernel().architecture == "scalar";
  const std::int64_t depth = has_tile_registers ? 512 : is_slow ? 32 : 128;
  const GemmShape shape = {has_tile_registers ? 261 : 117, has_tile_registers ? 510 : 303,
                           2 * depth + 9};
  for (int way = 0; way < 9; ++way) {
    Plan plan = plan_for(kernel(), types_of(kernel(), way == 3), shape, {shape.m, shape.n, depth},
                         Schedule{});
    // Where less of B stays, one in place comes in pieces of k, which are not shared.
    plan.machine.scratchpad_bytes = std::max<std::int64_t>(plan.machine.scratchpad_bytes, 1 << 20);
    const bool packs_before = way == 8;
    plan.tile.a_in_place = code.reads_in_place && way != 1 && !packs_before;
    plan.tile.b_in_place = code.reads_in_place && way != 1 && way != 2 && !packs_before;
    plan.problem.alpha = way == 4 ? -0.5 : 1;
    plan.problem.beta = way == 5 ? 1 : 0;
    if (way == 6) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
    const Placement place_a = {.column_major = way == 7};
    Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, 80 + way, place_a);
    Operands operands = product.operands(plan.problem.epilogue);
    PackedMatrix packed;
    if (packs_before) {
      plan.problem.b = kPackedLayout;
      packed = pack_b(plan, operands.b);
      operands.packed_b = &packed;
    }
    const auto start = Clock::now();
    cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
    const Clock::duration time = Clock::now() - start;
    const std::vector<std::byte> alone = product.c.bytes();
    // In the first pass and in later ones; again and again where others use the CPUs, so that the
    // second thread mostly comes too late.
    constexpr int kAttempts = 5;
    constexpr std::chrono::seconds kPatience{30};
    int parts = 0;
    for (int attempt = 0; attempt < kAttempts || parts == 0; ++attempt) {
      product.c = product.c_before;
      const Clock::duration after = time * (attempt % kAttempts) / kAttempts;
      Operands again = product.operands(plan.problem.epilogue);
      again.packed_b = operands.packed_b;
      parts += run_shared(plan, again, after);
      ASSERT_EQ(product.c.bytes(), alone) << "way " << way;
      if (Clock::now() - start > kPatience) break;
    }
    EXPECT_GT(parts, 0) << "way " << way;
  }
}

}  // namespace
}  // namespace tessera
