// Every microkernel of the catalogue, forced, over edge sizes, layouts, schedules, epilogues and
// thread counts, judged element by element. The ways by which operands reach it are tested in
// operand_paths_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/kernel.hpp"
#include "cpu/nearest_cache.hpp"
#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::Kernels;
using test::kMostPeers;
using test::kSchedules;
using test::Placement;
using test::plan_for;
using test::Product;
using test::random_bytes;
using test::run_and_check;
using test::task_of_panels;
using test::types_of;

std::vector<const KernelEntry*> all_kernels() {
  std::vector<const KernelEntry*> all;
  for (const KernelEntry& kernel : cpu_kernels()) all.push_back(&kernel);
  return all;
}

std::string kernel_name(const testing::TestParamInfo<const KernelEntry*>& info) {
  return std::string(info.param->name);
}
INSTANTIATE_TEST_SUITE_P(Cpu, Kernels, testing::ValuesIn(all_kernels()), kernel_name);

TEST_P(Kernels, CodeAgreesWithTheCatalogue) {
  const cpu::KernelCode* code = cpu::find_code(kernel().name);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->mr, kernel().tile.mr);
  EXPECT_EQ(code->nr, kernel().tile.nr);
  EXPECT_EQ(code->accumulator, accumulator_of(types_of(kernel())));
  EXPECT_EQ(code->reads_in_place, kernel().reads_in_place);
  EXPECT_EQ(code->interleaves, kernel().interleaves);
  EXPECT_EQ(code->widens, kernel().widens);
  EXPECT_EQ(code->multiplies_dots, kernel().multiplies_dots);
}

// One tile: every number of rows and vectors that a register tile can have, packed and in place.
TEST_P(Kernels, EveryRegisterTileSize) {
  const int mr = kernel().tile.mr;
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 1;
  for (std::int64_t m = 1; m <= mr + 1; ++m) {
    for (const std::int64_t n :
         {1, nr / 2 - 1, nr / 2, nr / 2 + 1, nr - 1, nr, nr + 1, 2 * nr + 3}) {
      for (const std::int64_t k : {1, 2, 3, 7, 64}) {
        for (const bool in_place : {false, true}) {
          Plan plan =
              plan_for(kernel(), types_of(kernel(), true), {m, n, k}, {m + 3, n + 3, 32}, {});
          plan.tile.a_in_place = in_place;
          plan.tile.b_in_place = in_place;
          Product product(plan.problem.types, {m, n, k}, 0, Fill::normal, seed++);
          ASSERT_EQ(run_and_check(plan, product, 1), "") << (in_place ? "in place" : "packed");
        }
      }
    }
  }
}

// Packed panels of random bytes that are finite in every type, multiplied either way.
TEST_P(Kernels, BitsDoNotDependOnStepsTogether) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  const std::int64_t rows = code.mr + code.mr / 2;
  const std::int64_t cols = code.nr + code.nr / 2 + 1;
  const std::int64_t sum_size = size_of(code.accumulator);
  const std::vector<unsigned char> source = random_bytes(1 << 18, 7);
  for (const std::int64_t depth : {1, 3, 4, 7, 64, 127, 131, 200, 262}) {
    std::vector<unsigned char> a(static_cast<std::size_t>(2 * code.panel_bytes_a(depth)));
    std::vector<unsigned char> b(static_cast<std::size_t>(2 * code.panel_bytes_b(depth)));
    code.pack_a({source.data(), rows, depth, depth, 1}, a.data());
    code.pack_b({source.data(), cols, depth, 1, cols}, b.data());
    std::vector<unsigned char> first;
    for (const auto& [together, loading] : {std::pair(false, false), {true, false}, {true, true}}) {
      std::vector<unsigned char> sum;
      sum.resize(static_cast<std::size_t>(rows * cols * sum_size));
      cpu::LookAhead ahead;
      cpu::BlockTask task = task_of_panels(code, {rows, cols, depth}, a.data(), b.data());
      task.sum = sum.data();
      task.sum_stride = cols;
      task.steps_together = together;
      task.multiply_adds_load = loading;
      task.ahead = &ahead;
      code.multiply(task);
      if (first.empty()) first = sum;
      ASSERT_EQ(sum, first) << "k = " << depth << (loading ? ", loading" : "");
    }
    ASSERT_TRUE(std::ranges::any_of(first, [](unsigned char byte) { return byte != 0; }));
  }
}

// A product of rows of B in place as so many streams, or by register tiles as many k at a time.
std::vector<unsigned char> sums_of_groups(const cpu::KernelCode& code, cpu::BlockTask task,
                                          int size_of_b, std::int64_t depth, bool streaming) {
  const auto bytes = static_cast<std::size_t>(task.rows * task.cols * size_of(code.accumulator));
  std::vector<unsigned char> sum(bytes, 0x11);
  const std::int64_t step = streaming ? depth : task.streams;
  const auto* a = static_cast<const unsigned char*>(task.a.data);
  const auto* b = static_cast<const unsigned char*>(task.b.data);
  task.sum = sum.data();
  task.depth = step;
  if (!streaming) task.streams = 0;
  for (std::int64_t k = 0; k < depth; k += step) {
    task.a.data = a + k * task.a.depth_stride * code.packed_size_a;
    task.b.data = b + k * task.b.depth_stride * size_of_b;
    code.multiply(task);
    task.beta = 1;
  }
  return sum;
}

// Rows of B in place as streams, few as on AMD's processors or many as on Intel's, whichever this
// one takes, near or far: the bits of register tiles, also in columns beyond the last whole tile.
TEST_P(Kernels, BitsDoNotDependOnStreams) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.few_stream_rows == 0) GTEST_SKIP() << "has no streams";
  const std::int64_t cols = 1100;
  const std::vector<unsigned char> source = random_bytes(1 << 19, 11);
  for (const int streams : {cpu::kFewStreams, kManyStreams}) {
    const bool are_few = streams == cpu::kFewStreams;
    const std::int64_t most = are_few ? code.few_stream_rows : code.many_stream_rows;
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(most, 11); ++rows) {
      for (const double beta : {0.0, 1.0}) {
        for (const int groups : {1, 3}) {
          const std::int64_t depth = groups * streams;
          cpu::BlockTask task;
          task.rows = rows;
          task.cols = cols;
          task.a = {source.data(), true, depth, 1, 0};
          task.b = {source.data(), true, 1, cols, 0};
          task.sum_stride = cols;
          task.alpha = 0.5;
          task.beta = beta;
          task.streams = static_cast<std::int16_t>(streams);
          task.b_is_far = rows % 2 == 0;
          const int size_of_b = size_of(kernel().b);
          ASSERT_EQ(sums_of_groups(code, task, size_of_b, depth, true),
                    sums_of_groups(code, task, size_of_b, depth, false))
              << rows << " rows, " << groups << " groups of " << streams << " streams, beta "
              << beta;
        }
      }
    }
  }
}

// Columns of B along k, in memory or near: fetched or not, and what is between C's rows stays. They
// may lie a multiple of the nearest cache's sets apart.
TEST_P(Kernels, BitsOfDotsDoNotDependOnWhereColumnsAre) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!code.multiplies_dots) GTEST_SKIP() << "makes no dot products";
  const std::int64_t depth = 131;
  const std::vector<unsigned char> source = random_bytes(1 << 16, 13);
  const std::int64_t colliding =
      static_cast<std::int64_t>(cpu::kNearestSetBytes) / size_of(kernel().b);
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 9, 13, 16, 21}) {
    for (const std::int64_t cols : {1, 2, 3, 5, 8, 13}) {
      const std::int64_t stride = cols + 2;
      const auto bytes = static_cast<std::size_t>(rows * stride * size_of(code.accumulator));
      for (const std::int64_t column : {depth + 5, colliding}) {
        std::vector<unsigned char> found[2];
        for (const bool is_far : {false, true}) {
          std::vector<unsigned char>& sum = found[is_far];
          sum.assign(bytes, 0x11);
          cpu::BlockTask task;
          task.rows = rows;
          task.cols = cols;
          task.depth = depth;
          task.a = {source.data(), true, depth + 1, 1, 0};
          task.b = {source.data() + 4096, true, column, 1, 0};
          task.sum = sum.data();
          task.sum_stride = stride;
          task.b_is_far = is_far;
          code.multiply(task);
        }
        ASSERT_EQ(found[0], found[1]) << rows << "×" << cols << ", columns " << column << " apart";
        const std::int64_t size = size_of(code.accumulator);
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto begin = found[1].begin() + row * stride * size;
          const auto is_untouched = [](unsigned char byte) { return byte == 0x11; };
          ASSERT_FALSE(std::all_of(begin, begin + cols * size, is_untouched)) << "row " << row;
          ASSERT_TRUE(std::all_of(begin + cols * size, begin + stride * size, is_untouched));
        }
      }
    }
  }
}

// Small products row by row of register tiles, as a large C is written, or column by column: one
// chain of multiply-adds for each element, B in place or packed, and A in rows or columns.
TEST_P(Kernels, BitsOfSmallProductsDoNotDependOnTheOrderOfTiles) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.multiply_small == nullptr) GTEST_SKIP() << "has no small products";
  const std::int64_t sum_size = size_of(code.accumulator);
  const std::vector<unsigned char> source = random_bytes(1 << 18, 17);
  for (const std::int64_t rows : {1, 6, 13, 40}) {
    for (const std::int64_t cols : {3, code.nr - 1, 2 * code.nr, 3 * code.nr, 5 * code.nr + 2}) {
      for (const int way : {0, 1, 2}) {
        const bool a_is_across = way == 0;
        const bool packs = way == 2;
        const std::int64_t depth = 11;
        std::vector<unsigned char> panels(static_cast<std::size_t>(6 * code.panel_bytes_b(depth)));
        code.pack_b({source.data(), cols, depth, 1, cols}, panels.data());
        std::vector<unsigned char> found[2];
        for (const bool is_far : {false, true}) {
          std::vector<unsigned char>& sum = found[is_far];
          sum.assign(static_cast<std::size_t>(rows * (cols + 3) * sum_size), 0x11);
          cpu::BlockTask task;
          task.rows = rows;
          task.cols = cols;
          task.depth = depth;
          task.a = {source.data(), true, a_is_across ? 1 : depth, a_is_across ? rows : 1, 0};
          task.b = {source.data(), true, 1, cols, 0};
          if (packs) task.b = {panels.data(), false, 1, code.nr, code.panel_bytes_b(depth)};
          task.sum = sum.data();
          task.sum_stride = cols + 3;
          task.alpha = way == 1 ? 1 : 0.5;
          task.beta = way == 0 ? 2 : 0;
          task.sums_are_far = is_far;
          code.multiply_small(task);
        }
        ASSERT_EQ(found[0], found[1]) << rows << " rows, " << cols << " columns, way " << way;
        ASSERT_TRUE(std::ranges::any_of(found[1], [](auto byte) { return byte != 0x11; }));
      }
    }
  }
}

// A B in place by wide tiles: the bits of register tiles, with every number of rows and of vectors,
// whole and not, A in rows or columns, fewer steps of k than are fetched ahead, and nothing written
// beyond the columns.
TEST_P(Kernels, BitsDoNotDependOnWideTiles) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.wide_rows == 0) GTEST_SKIP() << "has no wide tiles";
  const int lanes = code.nr / 2;
  const std::int64_t sum_size = size_of(code.accumulator);
  const std::vector<unsigned char> source = random_bytes(1 << 18, 13);
  for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(code.wide_rows, 19); ++rows) {
    const std::int64_t least = code.widens ? least_columns_in_registers(code.mr, code.nr) : 1;
    for (std::int64_t cols = least; cols <= 18 * lanes; cols += cols < 9 * lanes ? lanes / 2 : 67) {
      for (const std::int64_t depth : {1, 5, 40}) {
        std::vector<unsigned char> found[3];
        // By register tiles, by wide ones, and by these along C's rows.
        for (const int way : {0, 1, 2}) {
          std::vector<unsigned char>& sum = found[way];
          sum.assign(static_cast<std::size_t>(rows * (cols + 3) * sum_size), 0x11);
          cpu::BlockTask task;
          task.rows = rows;
          task.cols = cols;
          task.depth = depth;
          task.a = {source.data(), true, cols % 2 == 0 ? depth : 1, cols % 2 == 0 ? 1 : rows, 0};
          task.b = {source.data(), true, 1, cols + 5, 0};
          task.sum = sum.data();
          task.sum_stride = cols + 3;
          task.alpha = depth == 5 ? 1 : 0.5;
          task.beta = depth == 40 ? 0 : 2;
          task.rows_ahead = static_cast<std::int16_t>(way > 0 ? 16 : 0);
          task.sums_are_far = way == 2;
          code.multiply(task);
        }
        ASSERT_EQ(found[0], found[1]) << rows << "×" << cols << "×" << depth;
        ASSERT_EQ(found[0], found[2]) << rows << "×" << cols << "×" << depth;
        ASSERT_NE(found[1], std::vector<unsigned char>(found[1].size(), 0x11));
      }
    }
  }
}

// Few rows beside packed panels, several at a time: the bits of one after another, A in rows,
// across or packed, with whole panels and a last one that is not, whether sums stay in C or go to a
// finish.
TEST_P(Kernels, BitsDoNotDependOnPanelsSideBySide) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.panel_rows == 0 || !cpu::has_two_units()) GTEST_SKIP() << "takes one panel at a time";
  const std::int64_t sum_size = size_of(code.accumulator);
  const std::int64_t element = size_of(kernel().a);
  const std::vector<unsigned char> source = random_bytes(1 << 18, 17);
  for (std::int64_t rows = 1; rows <= code.panel_rows; ++rows) {
    for (std::int64_t cols = 2 * code.nr; cols <= 9 * code.nr; cols += code.nr - 5) {
      for (const std::int64_t depth : {1, 7, 40, 90}) {
        SCOPED_TRACE(std::to_string(rows) + "×" + std::to_string(cols) + "×" +
                     std::to_string(depth));
        const std::int64_t panel_bytes = code.panel_bytes_b(depth);
        std::vector<unsigned char> panels(
            static_cast<std::size_t>((cols + code.nr - 1) / code.nr * panel_bytes));
        code.pack_b({source.data(), cols, depth, 1, cols}, panels.data());
        std::vector<unsigned char> strip(static_cast<std::size_t>(code.panel_bytes_a(depth)));
        const bool is_across = cols % 3 == 0;
        const cpu::PackSource rows_of_a = {source.data() + 64 * element, rows, depth,
                                           is_across ? 1 : depth, is_across ? rows : 1};
        code.pack_a(rows_of_a, strip.data());
        const bool has_sum = cols % 2 == 0;
        std::vector<unsigned char> found[2];
        for (const bool together : {false, true}) {
          std::vector<unsigned char>& sum = found[together];
          sum.assign(static_cast<std::size_t>(rows * (cols + 3) * sum_size), 0x11);
          const std::int64_t step = together ? cols : code.nr;
          for (std::int64_t col = 0; col < cols; col += step) {
            cpu::BlockTask task;
            task.rows = rows;
            task.cols = std::min(step, cols - col);
            task.depth = depth;
            task.a = {strip.data(), false, 0, 0, code.panel_bytes_a(depth)};
            if (code.reads_in_place && depth != 7) {
              task.a = {rows_of_a.data, true, rows_of_a.along_stride, rows_of_a.depth_stride, 0};
            }
            task.b = {panels.data() + col / code.nr * panel_bytes, false, 0, 0, panel_bytes};
            task.alpha = depth == 40 ? 0.5 : 1;
            task.beta = has_sum && depth == 90 ? 2 : 0;
            task.panels_ahead = depth == 90 ? 4096 : 0;
            task.sums_are_far = depth == 1;
            task.steps_together = depth == 7;
            unsigned char* const at = sum.data() + col * sum_size;
            cpu::Finish finish;
            finish.c = at;
            finish.row_stride = cols + 3;
            finish.col_stride = 1;
            finish.c_type = code.accumulator;
            if (depth == 40) finish.activation = Activation::relu;
            finish.bias_axis = depth == 90 ? BiasAxis::column : BiasAxis::none;
            finish.bias = source.data() + (512 + col) * sum_size;
            finish.bias_stride = 1;
            finish.bias_type = code.accumulator;
            if (has_sum) {
              task.sum = at;
              task.sum_stride = cols + 3;
            } else {
              task.finish = &finish;
            }
            code.multiply(task);
          }
        }
        ASSERT_EQ(found[0], found[1]);
        ASSERT_NE(found[1], std::vector<unsigned char>(found[1].size(), 0x11));
      }
    }
  }
}

TEST_P(Kernels, EdgesOfTilesInEverySchedule) {
  std::uint64_t seed = 1000;
  for (const Schedule& schedule : kSchedules) {
    for (const std::int64_t m : {0, 1, 24, 61}) {
      for (const std::int64_t n : {1, 63, 64, 131}) {
        for (const std::int64_t k : {0, 1, 31, 33, 127}) {
          for (const bool wide_c : {false, true}) {
            Plan plan =
                plan_for(kernel(), types_of(kernel(), wide_c), {m, n, k}, {24, 64, 32}, schedule);
            plan.tile.mc = 12;
            Product product(plan.problem.types, {m, n, k}, 0, Fill::normal, seed++);
            ASSERT_EQ(run_and_check(plan, product, 2), "")
                << name_of(schedule.kind) << " " << m << "×" << n << "×" << k;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, EveryLayoutAndBeta) {
  const bool integer = kernel().a == ElementType::i8 || kernel().a == ElementType::u8;
  const std::array<Placement, 4> placements = {
      {{}, {.padding = 3}, {.column_major = true, .padding = 5}, {.padding = 1, .step = 2}}};
  std::uint64_t seed = 2000;
  for (const Placement& a : placements) {
    for (const Placement& b : placements) {
      for (const Placement& c : placements) {
        for (const double beta : {0.0, 1.0, integer ? -2.0 : -0.5}) {
          for (const bool in_place : {false, true}) {
            const GemmShape shape{37, 75, 83};
            Plan plan = plan_for(kernel(), types_of(kernel()), shape, {25, 40, 32},
                                 kSchedules[seed % kSchedules.size()]);
            plan.problem.alpha = integer ? 3 : 0.75;
            plan.problem.beta = beta;
            plan.tile.a_in_place = in_place;
            plan.tile.b_in_place = in_place;
            Product product(plan.problem.types, shape, beta, Fill::normal, seed++, a, b, c);
            ASSERT_EQ(run_and_check(plan, product, 2), "") << "beta " << beta << ", " << seed;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, EveryEpilogue) {
  const bool integer = kernel().a == ElementType::i8 || kernel().a == ElementType::u8;
  std::uint64_t seed = 4000;
  for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh,
                                        Activation::gelu_erf, Activation::silu}) {
      if (integer && activation != Activation::none && activation != Activation::relu) continue;
      for (const std::int64_t k : {0, 16, 70}) {
        for (const Schedule& schedule : {kSchedules[0], kSchedules[2]}) {
          for (const bool wide_c : {false, true}) {
            Plan plan =
                plan_for(kernel(), types_of(kernel(), wide_c), {29, 83, k}, {24, 64, 32}, schedule);
            plan.problem.beta = 1;
            plan.problem.epilogue = {bias, activation};
            Product product(plan.problem.types, {29, 83, k}, 1, Fill::normal, seed++);
            ASSERT_EQ(run_and_check(plan, product, 1), "")
                << name_of(bias) << " " << name_of(activation);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, BitsDoNotDependOnThreads) {
  for (const Schedule& schedule : kSchedules) {
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 3, 7, 64}) {
      const GemmShape shape{150, 170, 190};
      Plan plan = plan_for(kernel(), types_of(kernel()), shape, {48, 64, 32}, schedule);
      Product product(plan.problem.types, shape, 0, Fill::normal, 77);
      const Operands operands = product.operands();
      cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
      if (first.empty()) {
        first = product.c.bytes();
        ASSERT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
      }
      ASSERT_EQ(first, product.c.bytes()) << threads << " threads";
    }
  }
}

// More rows leave the ones before them unchanged, wherever a plan's blocks of k stay the same.
TEST_P(Kernels, BitsOfARowDoNotDependOnTheNumberOfRows) {
  if (splits_f64(kernel())) GTEST_SKIP() << "multiplies a row as its strip's others let it";
  const GemmShape largest{130, 70, 100};
  std::vector<double> row;
  for (const std::int64_t m : {1, 2, 5, 6, 12, 13, 24, 31, 64, 130}) {
    const GemmShape shape{m, largest.n, largest.k};
    Plan plan = plan_for(kernel(), types_of(kernel()), shape, {24, 64, 32}, {});
    Product product(plan.problem.types, largest, 0, Fill::normal, 5);
    Operands operands = product.operands();
    operands.a.rows = m;
    operands.c.rows = m;
    cpu::run_plan(plan, {&operands, 1}, {});
    std::vector<double> found;
    for (std::int64_t col = 0; col < largest.n; ++col) found.push_back(product.c.at(0, col));
    if (row.empty()) row = found;
    ASSERT_EQ(row, found) << m << " rows";
  }
}

}  // namespace
}  // namespace tessera
