// The microkernels with tile registers (AMX): blocks that are walked by strips of rows or by panels
// of columns, in one piece of k or several, past the caches or not, and A packed from either
// layout. The bits are the same whichever way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "core/tile_registers_rule.hpp"
#include "cpu/blocking.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::dealt_parts;
using test::Fill;
using test::Kernels;
using test::kSchedules;
using test::Placement;
using test::plan_for;
using test::Product;
using test::random_bytes;
using test::run_and_check;
using test::task_of_panels;
using test::types_of;

// From a cache line on, as sums that go past the caches must be.
class Sums {
 public:
  explicit Sums(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<unsigned char*>(::operator new(bytes, kAlignment))) {
    std::memset(data_.get(), 0x11, bytes);
  }
  unsigned char* data() { return data_.get(); }
  std::vector<unsigned char> copy() const { return {data_.get(), data_.get() + bytes_}; }

 private:
  static constexpr std::align_val_t kAlignment{cpu::kCacheLine};
  struct Free {
    void operator()(unsigned char* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t bytes_;
  std::unique_ptr<unsigned char, Free> data_;
};

// Rows and columns that no register ends at, k of one chunk to several pieces, sums that go on.
TEST_P(Kernels, TileRegistersWalkABlockEitherWay) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  for (const std::int64_t rows : {1, 16, 17, 33, 128, 140, 201, 275}) {
    for (const std::int64_t cols : {7, 32, 49, 96}) {
      for (const std::int64_t depth : {5, 64, 130, 700, 1600}) {
        const std::int64_t strips = (rows + code.mr - 1) / code.mr;
        const std::int64_t panels = (cols + code.nr - 1) / code.nr;
        const auto bytes = random_bytes(std::max(rows, cols) * depth * code.packed_size_a, 7);
        std::vector<unsigned char> a(static_cast<std::size_t>(strips * code.panel_bytes_a(depth)));
        std::vector<unsigned char> b(static_cast<std::size_t>(panels * code.panel_bytes_b(depth)));
        code.pack_a({bytes.data(), rows, depth, depth, 1}, a.data());
        code.pack_b({bytes.data(), cols, depth, 1, cols}, b.data());
        // Rows of sums that start on cache lines, and rows across them.
        for (const std::int64_t stride : {(cols + 15) / 16 * 16 + 16, cols + 3}) {
          const auto sums = [&](bool by_strips, bool streams, double beta) {
            Sums sum(static_cast<std::size_t>(rows * stride * size_of(code.accumulator)));
            cpu::BlockTask task = task_of_panels(code, {rows, cols, depth}, a.data(), b.data());
            task.sum = sum.data();
            task.sum_stride = stride;
            task.sums_are_far = by_strips;
            task.fetches_sums = !streams;
            task.streams_sums = streams;
            code.multiply(task);
            if (beta != 0) {
              task.beta = beta;
              code.multiply(task);
            }
            return sum.copy();
          };
          for (const double beta : {0.0, 1.0, 0.5}) {
            const auto by_panels = sums(false, false, beta);
            ASSERT_EQ(sums(true, false, beta), by_panels) << rows << "×" << cols << "×" << depth;
            ASSERT_EQ(sums(false, true, beta), by_panels) << rows << "×" << cols << "×" << depth;
            // What lies beside the block is as it was.
            const auto row_bytes = static_cast<std::size_t>(cols * size_of(code.accumulator));
            const auto pitch = static_cast<std::size_t>(stride * size_of(code.accumulator));
            for (std::size_t at = 0; at < by_panels.size(); ++at) {
              ASSERT_TRUE(at % pitch < row_bytes || by_panels[at] == 0x11) << at;
            }
          }
        }
      }
    }
  }
}

// Rows of A in place that end anywhere, what lies behind them being no number, in flat blocks and
// others, of one piece of k and several, with sums that go on or are scaled.
TEST_P(Kernels, TileRegistersReadRowsOfAWhateverTheyEndIn) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!has_tile_registers(kernel()) || !code.keeps_rows) GTEST_SKIP() << "reads no rows of A";
  const int step = code.depth_step;
  const std::int64_t size = size_of(kernel().a);
  int flat = 0;
  int once = 0;
  int others = 0;
  for (const std::int64_t rows : {1, 16, 17, 50, 128, 300}) {
    for (const std::int64_t cols : {3, 16, 32, 49, 64, 80, 100}) {
      for (const int depth : {3, 8, step - 4, step, step + 1, 2 * step + 1, 5 * step + 3,
                              15 * step + 2, 20 * step - 1, 5300}) {
        if (depth == 5300 && (cols != 64 || rows != 300)) continue;
        const std::int64_t pitch = depth + 9;
        auto bytes = random_bytes(rows * pitch * size, 3);
        for (std::int64_t row = 0; row < rows; ++row) {
          std::memset(bytes.data() + (row * pitch + depth) * size, 0xff,
                      static_cast<std::size_t>((pitch - depth) * size));
        }
        const auto columns = random_bytes(cols * depth * size, 5);
        const std::int64_t strips = (rows + code.mr - 1) / code.mr;
        const std::int64_t panels = (cols + code.nr - 1) / code.nr;
        std::vector<unsigned char> a(static_cast<std::size_t>(strips * code.panel_bytes_a(depth)));
        std::vector<unsigned char> b(static_cast<std::size_t>(panels * code.panel_bytes_b(depth)));
        code.pack_a({bytes.data(), rows, depth, pitch, 1}, a.data());
        code.pack_b({columns.data(), cols, depth, 1, cols}, b.data());
        // By blocks of so many columns.
        const auto sums = [&](std::int64_t width, bool in_place, bool by_strips, double alpha,
                              double beta) {
          const std::int64_t stride = cols + 5;
          const std::int64_t sum_size = size_of(code.accumulator);
          std::vector<unsigned char> sum(static_cast<std::size_t>(rows * stride * sum_size), 0x11);
          for (std::int64_t col = 0; col < cols; col += width) {
            cpu::BlockTask task =
                task_of_panels(code, {rows, std::min(width, cols - col), depth}, a.data(),
                               b.data() + col / code.nr * code.panel_bytes_b(depth));
            if (in_place) task.a = {bytes.data(), true, pitch, 1, 0};
            task.sum = sum.data() + col * sum_size;
            task.sum_stride = stride;
            task.sums_are_far = by_strips;
            code.multiply(task);
            task.alpha = alpha;
            task.beta = beta;
            code.multiply(task);
          }
          return sum;
        };
        for (const double beta : {0.0, 1.0, 0.5}) {
          const double alpha = beta == 0.5 ? 2 : 1;
          // Panels one by one are no flat blocks.
          const auto packed = sums(code.nr, false, false, alpha, beta);
          for (const auto& [in_place, by_strips] :
               {std::pair{false, true}, {true, false}, {true, true}}) {
            ASSERT_EQ(sums(cols, in_place, by_strips, alpha, beta), packed)
                << rows << "×" << cols << "×" << depth << ", " << in_place << by_strips;
          }
        }
        const bool reads_once = reads_rows_once(rows, cols, depth * size);
        ++(reads_once ? once : suits_flat_blocks(depth * size, cols) ? flat : others);
      }
    }
  }
  EXPECT_GT(flat, 0);
  EXPECT_GT(once, 0);
  EXPECT_GT(others, 0);
}

// Panels of B with less than 64 bytes of k have the groups of four that it fills, and no more:
// beside them zeros would be most of what is read.
TEST_P(Kernels, TileRegistersHaveShortPanelsOfAShortDepth) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!has_tile_registers(kernel()) || kernel().products > 1) GTEST_SKIP() << "has no such panels";
  const int group = 4 / size_of(kernel().b);
  const std::int64_t group_bytes = 4 * code.nr;
  EXPECT_EQ(code.panel_bytes_b(1), group_bytes);
  EXPECT_EQ(code.panel_bytes_b(2 * group), 2 * group_bytes);
  EXPECT_EQ(code.panel_bytes_b(2 * group + 1), 3 * group_bytes);
  EXPECT_EQ(code.panel_bytes_b(code.depth_step), 16 * group_bytes);
  EXPECT_EQ(code.panel_bytes_b(code.depth_step + 1), 32 * group_bytes);
}

// Few rows of C, turned round where B's columns lie along k: C of either type and layout, with what
// follows the sums, of one block of k and several, which a schedule may divide.
TEST_P(Kernels, TileRegistersTurnFewRowsRound) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  std::uint64_t seed = 9500;
  for (const GemmShape& shape : {GemmShape{1, 300, 160},
                                 {3, 300, 160},
                                 {16, 150, 200},
                                 {20, 110, 350},
                                 {33, 70, 600},
                                 {64, 81, 530}}) {
    for (int way = 0; way < 9; ++way) {
      const bool divides = way == 6 || way == 7;
      Plan plan = plan_for(kernel(), types_of(kernel(), way % 2 == 0), shape,
                           {shape.m, shape.n, divides ? 128 : shape.k},
                           divides ? kSchedules[1] : Schedule{});
      plan.problem.alpha = way != 5 ? 1 : code.accumulator == ElementType::i32 ? 3 : 0.7;
      plan.problem.beta = way == 1 || way == 4 ? 1 : 0;
      if (way > 1 && way < 5) {
        plan.problem.epilogue = {way == 2 ? BiasAxis::row : BiasAxis::column, Activation::relu};
      }
      Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, ++seed,
                      {.padding = way}, {.column_major = true, .padding = way % 3},
                      {.column_major = way == 8, .padding = way});
      // Sums that C collects are scaled another way round, which may be where rows need not be
      // alike.
      const bool is_alike = (plan.problem.alpha == 1 && plan.problem.beta == 0) ||
                            plan.problem.types.c != code.accumulator || way == 8;
      Plan alike = plan;
      alike.tile.rows_alike = true;
      EXPECT_TRUE(cpu::product_of(product.operands(), plan, code).turned);
      EXPECT_EQ(cpu::product_of(product.operands(), alike, code).turned, is_alike);
      EXPECT_EQ(run_and_check(plan, product, 2), "")
          << shape.m << "×" << shape.n << "×" << shape.k << ", way " << way;
    }
  }
}

// Rows along k, across it, and elements apart, which are packed one by one.
TEST_P(Kernels, PacksRowsOfAAsAnyOthers) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.refers_to_elements) GTEST_SKIP() << "panels say where their elements are";
  const std::int64_t size = size_of(kernel().a);
  constexpr std::int64_t kMostDepth = 150;
  const std::int64_t rows = 2 * code.mr;
  const auto along = random_bytes(rows * kMostDepth * size, 11);
  std::vector<unsigned char> across(along.size());
  std::vector<unsigned char> apart(2 * along.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < kMostDepth; ++k) {
      const unsigned char* element = along.data() + (row * kMostDepth + k) * size;
      std::copy_n(element, size, across.data() + (k * rows + row) * size);
      std::copy_n(element, size, apart.data() + 2 * (row * kMostDepth + k) * size);
    }
  }
  for (std::int64_t depth = 1; depth <= kMostDepth; depth += depth < 20 ? 1 : 13) {
    const auto bytes = static_cast<std::size_t>(2 * code.panel_bytes_a(depth));
    std::vector<unsigned char> packed[3];
    for (auto& panels : packed) panels.assign(bytes, 0x55);
    code.pack_a({along.data(), rows, depth, kMostDepth, 1}, packed[0].data());
    code.pack_a({across.data(), rows, depth, 1, rows}, packed[1].data());
    code.pack_a({apart.data(), rows, depth, 2 * kMostDepth, 2}, packed[2].data());
    ASSERT_EQ(packed[0], packed[2]) << "k = " << depth;
    ASSERT_EQ(packed[1], packed[2]) << "k = " << depth;
  }
}

// Whole products: A in place, copied into strips and transposed into them, C of either type, with
// what follows the sums, and an L2 that holds B's block or does not.
TEST_P(Kernels, TileRegistersInEveryLayout) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  std::uint64_t seed = 9000;
  for (const GemmShape& shape :
       {GemmShape{70, 100, 65}, {160, 64, 128}, {33, 33, 400}, {200, 40, 1100}}) {
    for (const Placement& place_a : {Placement{}, {.column_major = true}, {.padding = 5}}) {
      for (int way = 0; way < 4; ++way) {
        const auto run = [&](std::int64_t l2) {
          Plan plan = plan_for(kernel(), types_of(kernel(), way % 2 == 0), shape,
                               {shape.m, shape.n, way == 3 ? 128 : shape.k},
                               way == 2 ? kSchedules[1] : Schedule{});
          plan.machine.scratchpad_bytes = l2;
          plan.problem.beta = way % 2;
          if (way > 1) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
          Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed, place_a,
                          {}, {.padding = way});
          EXPECT_EQ(run_and_check(plan, product, 2), "")
              << shape.m << "×" << shape.n << "×" << shape.k << ", way " << way;
          return product.c.bytes();
        };
        ASSERT_EQ(run(1 << 10), run(1 << 20));
        ++seed;
      }
    }
  }
}

// Strips of rows where B's block stays near; past the caches where C's rows drive each other out of
// them, and all of k is there.
TEST_P(Kernels, TileRegistersWalkWhatStaysNear) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.cols_together > 0) GTEST_SKIP() << "walks blocks of strips and panels";
  // With a C that begins so many bytes behind a cache line; it is not written.
  std::uintptr_t behind_line = 0;
  const auto blocking_for = [&](const GemmShape& shape, std::int64_t l2, std::int64_t block_k,
                                std::int64_t padding) {
    Plan plan =
        plan_for(kernel(), types_of(kernel(), true), shape, {shape.m, shape.n, block_k}, {});
    plan.machine.scratchpad_bytes = l2;
    Product product(plan.problem.types, shape, 0, Fill::normal, 1, {}, {}, {.padding = padding});
    Operands operands = product.operands();
    const auto behind = reinterpret_cast<std::uintptr_t>(operands.c.data) % cpu::kCacheLine;
    operands.c.data = static_cast<unsigned char*>(operands.c.data) - behind + behind_line;
    const cpu::Launch launch{plan, code, {}, {}};
    return cpu::blocking_of(launch, cpu::product_of(operands, plan, code));
  };
  const GemmShape shape{96, 1024, 64};  // more rows than B is packed by pieces for
  const auto blocking = [&](std::int64_t l2, std::int64_t block_k, std::int64_t padding) {
    return blocking_for(shape, l2, block_k, padding);
  };
  const std::int64_t far = 64 << 10;
  const std::int64_t near = 1 << 20;
  ASSERT_GT(shape.n * shape.k * code.packed_size_b, near_b_bytes(far));
  EXPECT_TRUE(blocking(near, 64, 0).sums_are_far);
  EXPECT_FALSE(blocking(near, 64, 0).streams_sums);
  EXPECT_FALSE(blocking(far, 64, 0).sums_are_far);
  EXPECT_TRUE(blocking(far, 64, 0).streams_sums);
  EXPECT_FALSE(blocking(far, 64, 16).streams_sums);
  EXPECT_FALSE(blocking(far / 2, 32, 0).streams_sums);
  // Rows 4 KB apart, or nearly, drive each other out of the nearest cache.
  EXPECT_TRUE(blocking(near, 64, 6).fetches_sums);
  EXPECT_FALSE(blocking(near, 64, 1).fetches_sums);
  EXPECT_FALSE(blocking(near, 64, 0).fetches_sums);
  // Rows of 65 or 64 whole lines, with so many steps of k.
  const auto fetches = [&](std::int64_t steps, std::int64_t padding) {
    const std::int64_t depth = steps * code.depth_step;
    return blocking_for({shape.m, 1024, depth}, near, depth, padding).fetches_sums;
  };
  EXPECT_FALSE(fetches(3, 16));
  EXPECT_TRUE(fetches(4, 16));
  EXPECT_FALSE(fetches(11, 0));
  EXPECT_TRUE(fetches(12, 0));
  // Which they are not, though rows are so long, if the first begins elsewhere.
  behind_line = 16;
  EXPECT_TRUE(fetches(3, 16));
  EXPECT_FALSE(fetches(12, 0));
  // Nor is a large C with a long k beside a B that is far, however few steps those are.
  EXPECT_FALSE(blocking_for({128, 1024, 1024}, 512 << 10, 1024, 1).sums_are_far);
}

// Flat blocks are for a short k beside whole panels, the shorter the more panels there are.
TEST(FlatBlocks, SuitAShortDepthBesideFewPanels) {
  EXPECT_TRUE(suits_flat_blocks(512, 64));
  EXPECT_TRUE(suits_flat_blocks(192, 96));
  EXPECT_TRUE(suits_flat_blocks(192, 128));
  EXPECT_FALSE(suits_flat_blocks(256, 96));
  EXPECT_FALSE(suits_flat_blocks(256, 128));
  EXPECT_TRUE(suits_flat_blocks(256, 100));  // ends in a part of a panel
  EXPECT_TRUE(suits_flat_blocks(64, 160));
  EXPECT_FALSE(suits_flat_blocks(68, 160));
}

// Rows of A that drive each other out of the nearest cache are copied, but not beside few columns.
TEST_P(Kernels, TileRegistersReadCollidingRowsBesideFewColumns) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!code.keeps_rows) GTEST_SKIP() << "reads no rows of A";
  const int size = size_of(kernel().a);
  const auto reads_rows = [&](std::int64_t cols, std::int64_t row_bytes) {
    const GemmShape shape{72, cols, row_bytes / size};
    Plan plan =
        plan_for(kernel(), types_of(kernel(), true), shape, {shape.m, shape.n, 1024 / size}, {});
    Product product(plan.problem.types, shape, 0, Fill::normal, 1);
    EXPECT_EQ(run_and_check(plan, product, 1), "") << cols << " columns, " << row_bytes;
    const Operands operands = product.operands();
    const cpu::Launch launch{plan, code, {}, {}};
    return cpu::blocking_of(launch, cpu::product_of(operands, plan, code)).a_in_place;
  };
  EXPECT_TRUE(reads_rows(160, 4096));
  EXPECT_FALSE(reads_rows(161, 4096));
  EXPECT_TRUE(reads_rows(161, 4096 + 64));
  EXPECT_TRUE(reads_rows(64, 32 << 10));
  EXPECT_FALSE(reads_rows(160, 32 << 10));
}

// Threads are dealt strips of rows where parts of columns would share a line of each row of C, if
// there are enough of them.
TEST_P(Kernels, ThreadsShareNoLinesOfTileRegisters) {
  if (!has_tile_registers(kernel())) GTEST_SKIP() << "has no tile registers";
  if (looks_at_elements(kernel())) GTEST_SKIP() << "keeps the rows of a strip together";
  std::uint64_t seed = 71;
  const auto share_with = [&](const GemmShape& shape, std::int64_t padding, int workers) {
    Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {96, 96, 64}, {});
    plan.tile.block_k = static_cast<int>(shape.k);
    plan.schedule.workers = workers;
    Product product(plan.problem.types, shape, 0, Fill::normal, seed++, {}, {},
                    {.padding = padding});
    return dealt_parts(plan, product, workers);
  };
  EXPECT_EQ(share_with({142, 128, 35}, 0, 2), std::pair(std::int64_t{64}, true));  // whole lines
  EXPECT_EQ(share_with({142, 128, 35}, 1, 2), std::pair(std::int64_t{80}, false));
  EXPECT_EQ(share_with({92, 401, 5}, 0, 2), std::pair(std::int64_t{48}, false));
  EXPECT_EQ(share_with({31, 229, 60}, 0, 2), std::pair(std::int64_t{16}, false));
  // Strips of so few rows are too few.
  EXPECT_EQ(share_with({24, 255, 35}, 0, 4), std::pair(std::int64_t{64}, true));
}

}  // namespace
}  // namespace tessera
