// The ways by which operands reach a microkernel: in place or packed, as dot products, as streams,
// with rows that drive each other out of a cache, packed ahead; and C that no cache holds. For
// every microkernel of the catalogue, judged element by element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/catalogue.hpp"
#include "core/in_place_rule.hpp"
#include "core/passing_rule.hpp"
#include "cpu/blocking.hpp"
#include "cpu/product.hpp"
#include "cpu/run.hpp"
#include "cpu/steps.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::Kernels;
using test::kSchedules;
using test::Placement;
using test::plan_for;
using test::Product;
using test::random_bytes;
using test::run_and_check;
using test::types_of;

// Rows of A and columns of B along k, in place: every size of a tile of dot products, all ends of
// k.
TEST_P(Kernels, DotProductsOfEverySize) {
  std::uint64_t seed = 500;
  for (std::int64_t m = 1; m <= 6; ++m) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 21}) {
      for (const std::int64_t k : {1, 9, 15, 16, 64, 67, 130, 261, 300}) {
        Plan plan =
            plan_for(kernel(), types_of(kernel(), m % 2 == 0), {m, n, k}, {m, n + 3, 256}, {});
        plan.tile.a_in_place = true;
        plan.tile.b_in_place = true;
        plan.problem.beta = n % 2 == 0 ? 0 : 1;
        Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed++, {},
                        {.column_major = true});
        ASSERT_EQ(run_and_check(plan, product, 1), "") << m << "×" << n << "×" << k;
      }
    }
  }
}

// One element of C: its column of B lies along k, though its rows are next to each other, too; but
// for one out of a wider matrix, and beside more rows.
TEST_P(Kernels, OneElementIsADotProduct) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  std::uint64_t seed = 560;
  for (const std::int64_t k : {1, 7, 16, 50, 129, 1209}) {
    for (const int variant : {0, 1, 2, 3, 4}) {
      const GemmShape shape{variant == 4 ? 3 : 1, 1, k};
      Plan plan = plan_for(kernel(), types_of(kernel(), k % 2 == 0), shape, {8, 1, 1024}, {});
      plan.tile.a_in_place = true;
      plan.tile.b_in_place = true;
      plan.problem.beta = k == 50 ? 1 : 0;
      if (k == 7) plan.problem.epilogue = {BiasAxis::row, Activation::relu};
      const Placement a{.column_major = variant == 1, .step = variant == 1 ? 2 : 1};
      const Placement b{.column_major = variant == 2,
                        .padding = variant == 2 || variant == 3 ? 3 : 0};
      Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++, a, b);
      const cpu::Product faced =
          cpu::product_of(product.operands(plan.problem.epilogue), plan, code);
      if (!faced.turned) {
        EXPECT_EQ(faced.is_dots, code.multiplies_dots && variant < 3) << k << ", " << variant;
      }
      ASSERT_EQ(run_and_check(plan, product, 1), "") << k << ", " << variant;
    }
  }
}

// The same where A lies across k and is copied, or C's rows are no vectors, as those of narrow
// products that are turned round; with what follows the sums, which takes 16 rows and 64 columns at
// a time.
TEST_P(Kernels, DotProductsOfOperandsThatLieOtherwise) {
  std::uint64_t seed = 600;
  for (const GemmShape& shape : {GemmShape{1, 70, 300},
                                 {5, 9, 67},
                                 {7, 131, 64},
                                 {19, 66, 130},
                                 {70, 1, 300},
                                 {150, 3, 67},
                                 {131, 2, 20},
                                 {40, 4, 600},
                                 {90, 4, 259},
                                 {100, 17, 500},
                                 {41, 34, 1100},
                                 {17, 1, 0},
                                 {33, 3, 0}}) {
    for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
      Plan plan = plan_for(kernel(), types_of(kernel(), variant < 4), shape,
                           {shape.m, shape.n + 3, 256}, {});
      plan.tile.a_in_place = true;
      plan.tile.b_in_place = true;
      plan.problem.beta = variant % 2;
      if (variant == 3) plan.problem.epilogue = {BiasAxis::row, Activation::relu};
      if (variant == 5) plan.problem.alpha = 0;
      const bool is_turned = shape.n < 5 || shape.n == 17;
      const Placement along_k{.column_major = !is_turned, .padding = variant};
      const Placement across{.column_major = variant % 4 < 2, .padding = 3};
      const Placement c{.column_major = variant % 4 == 1, .padding = 1, .step = 1 + variant / 6};
      Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++,
                      is_turned ? along_k : across, is_turned ? across : along_k, c);
      ASSERT_EQ(run_and_check(plan, product, 2), "")
          << shape.m << "×" << shape.n << "×" << shape.k << ", " << variant;
    }
  }
}

// Blocks of k so deep that C is fetched before it is needed (register_tile.hpp), and their
// remainders; with k = 4096, rows of A that would drive each other out of the nearest cache, and
// are copied or taken a few at a time (rows_of_a.cpp).
TEST_P(Kernels, DeepBlocks) {
  std::uint64_t seed = 700;
  for (const std::int64_t block_k : {132, 256, 1000}) {
    for (const std::int64_t k : {131, 257, 700, 4096}) {
      for (const bool in_place : {false, true}) {
        const GemmShape shape{2 * kernel().tile.mr + 1, kernel().tile.nr + 1, k};
        Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {64, 96, block_k}, {});
        plan.tile.a_in_place = in_place;
        plan.tile.b_in_place = in_place;
        plan.problem.beta = 1;
        Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++);
        ASSERT_EQ(run_and_check(plan, product, 1), "") << block_k << " of " << k;
      }
    }
  }
}

// Rows of A whose k ends within a pair or a quad, where they lie, a few at a time and copied: with
// rows 4096 elements apart, that is for few columns and for many.
TEST_P(Kernels, RowsThatEndWithinAGroup) {
  std::uint64_t seed = 800;
  for (const std::int64_t k : {5, 7, 63, 1021, 4093, 4094}) {
    for (const std::int64_t n : {kernel().tile.nr + 1, 289}) {
      for (const std::int64_t block_k : {64, 5000}) {
        const GemmShape shape{2 * kernel().tile.mr + 1, n, k};
        Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {64, 320, block_k}, {});
        plan.problem.beta = k % 2 == 0 ? 0 : 1;
        Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++,
                        {.padding = k < 4000 ? 0 : static_cast<int>(4096 - k)});
        ASSERT_EQ(run_and_check(plan, product, 1), "") << block_k << " of " << k;
      }
    }
  }
}

// A C that no cache holds is written row by row (blocking.cpp), with the same bits: every kind of
// operand, edges of register tiles, the longest k for which it is so, and beyond.
TEST_P(Kernels, FarSums) {
  const int mr = kernel().tile.mr;
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 900;
  for (const std::int64_t k : {1, 7, 64, 127, 128, 129, 512, 520}) {
    for (const GemmShape& shape :
         {GemmShape{2 * mr + 1, 3 * nr - 1, k}, GemmShape{3 * mr, nr + 1, k}}) {
      for (const int variant : {0, 1, 2, 3, 4, 5, 6, 7}) {
        Plan plan = plan_for(kernel(), types_of(kernel(), variant < 6), shape,
                             {mr + 5, 2 * nr, variant % 4 == 0 ? 64 : 600}, {});
        plan.tile.a_in_place = variant % 2 == 1;
        plan.tile.b_in_place = variant % 4 >= 2;
        plan.problem.beta = variant < 4 ? 0 : 1;
        if (variant == 5) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        std::vector<std::byte> near;
        for (const std::int64_t cache : {std::int64_t{1} << 30, std::int64_t{1}}) {
          plan.machine.cache_bytes = cache;
          Product product(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed);
          ASSERT_EQ(run_and_check(plan, product, 2), "") << variant << ", k = " << k;
          if (near.empty()) near = product.c.bytes();
          ASSERT_EQ(near, product.c.bytes()) << variant << ", k = " << k;
        }
        ++seed;
      }
    }
  }
}

// Skinny products are turned round, whatever C's layout.
TEST_P(Kernels, OneRowAndOneColumn) {
  std::uint64_t seed = 3000;
  for (const GemmShape& shape :
       {GemmShape{1, 201, 77}, GemmShape{201, 1, 77}, GemmShape{3, 97, 40}, GemmShape{97, 3, 40},
        GemmShape{1, 1, 500}, GemmShape{16, 133, 75}}) {
    for (const bool column_major : {false, true}) {
      for (const bool in_place : {false, true}) {
        for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
          Plan plan = plan_for(kernel(), types_of(kernel()), shape, {64, 64, 48}, kSchedules[2]);
          plan.tile.a_in_place = in_place;
          plan.tile.b_in_place = in_place;
          // So small a cache that B in place is streamed, a few k at a time.
          plan.machine.scratchpad_bytes = 1024;
          plan.problem.epilogue.bias = bias;
          Product product(plan.problem.types, shape, 0, Fill::normal, seed++,
                          {.column_major = column_major}, {.column_major = column_major},
                          {.column_major = column_major, .padding = 1});
          ASSERT_EQ(run_and_check(plan, product, 2), "") << shape.m << "×" << shape.n;
        }
      }
    }
  }
}

// B's rows where they lie, interleaved or widened in registers beside rows of A of any layout:
// every number of columns in the last vector, with no more than those in a row, in whole blocks of
// k and in part, as wide tiles and as register tiles.
TEST_P(Kernels, RowsOfBInRegisters) {
  if (!kernel().interleaves && !kernel().widens) GTEST_SKIP() << "packs, or reads B as it is";
  std::uint64_t seed = 3200;
  const Placement placements[] = {{}, {.column_major = true}, {.padding = 5}, {.step = 2}};
  for (const std::int64_t m : {1, 2, 5, 7, 13, 16}) {
    for (std::int64_t n = 1; n <= 2 * kernel().tile.nr + 1; n += n < 40 ? 1 : 5) {
      const std::int64_t k = 1 + static_cast<std::int64_t>(seed % 7) * 29;
      const int variant = static_cast<int>(seed % 4);
      Plan plan = plan_for(kernel(), types_of(kernel(), variant != 1), {m, n, k},
                           {m + 3, variant == 2 ? kernel().tile.nr : n + 3, k > 99 ? 64 : 128}, {});
      plan.tile.b_in_place = true;
      plan.problem.beta = variant % 2;
      if (variant == 3) plan.problem.epilogue = {BiasAxis::row, Activation::relu};
      Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed++,
                      placements[variant]);
      ASSERT_EQ(run_and_check(plan, product, 2), "") << m << "×" << n << "×" << k;
    }
  }
}

// B in place as streams: every number of rows side by side, pieces of B's rows and what is left of
// them, rows that keep apart in the nearest cache or not, steps of k and what is left of those, and
// an epilogue over all of it.
TEST_P(Kernels, StreamsOfB) {
  std::uint64_t seed = 3500;
  for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13}) {
    for (const std::int64_t n : {31, 520, 1024, 1100}) {
      for (const std::int64_t k : {3, 4, 70, 310}) {
        const std::int64_t block_k = k < 100 ? 33 : 160;
        Plan plan =
            plan_for(kernel(), types_of(kernel(), true), {m, n, k}, {m + 3, n + 3, block_k}, {});
        plan.tile.b_in_place = true;
        plan.tile.a_in_place = m % 2 == 0;
        plan.machine.scratchpad_bytes = 1024;
        // From memory, or from the last cache.
        plan.machine.cache_bytes = n % 1024 == 0 ? 1 : 1 << 30;
        plan.problem.beta = k == 4 ? 0 : 1;
        plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed++);
        ASSERT_EQ(run_and_check(plan, product, 1), "") << m << "×" << n << "×" << k;
      }
    }
  }
}

// A B that would stay in L2 by itself passes by among others of its size, and is read as rows.
TEST_P(Kernels, BsOfAGroupDriveEachOtherOut) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!code.interleaves || is_narrow_tile(code.mr)) GTEST_SKIP() << "has no rows to interleave";
  const GemmShape shape{4, 600, 300};
  Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {4, 600, 300}, {});
  plan.tile.b_in_place = true;
  Product product(plan.problem.types, shape, 0, Fill::normal, 1, {}, {.padding = 700});
  const Operands operands = product.operands();
  const auto depth = [&](std::size_t groups, std::int64_t part_of_l2) {
    plan.problem.groups.assign(groups, shape);
    plan.machine.scratchpad_bytes = part_of_l2 * shape.k * shape.n * size_of(kernel().b);
    return cpu::step_of(plan, cpu::product_of(operands, plan, code)).depth;
  };
  EXPECT_EQ(depth(1, 2), shape.k);
  EXPECT_EQ(depth(2, 2), shape.k);
  EXPECT_LT(depth(3, 2), shape.k);
  EXPECT_EQ(depth(100, 4), shape.k);
}

// What a worker has of B where k is divided is in its L2 in the next call, and is not read as rows
// that pass by once.
TEST_P(Kernels, APartOfKStaysNear) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!cpu::has_two_units() || !code.reads_in_place) {
    GTEST_SKIP() << "reads no rows of B, or divides k without a look at L2";
  }
  constexpr std::int64_t kDepth = 320;
  const GemmTypes types = types_of(kernel(), true);
  const std::int64_t l2 = std::int64_t{2} << 20;
  const std::int64_t cols = 5 * l2 / 8 / kDepth / size_of(kernel().b);  // of a block in 5/8 of L2
  const auto depth = [&](ScheduleKind kind, int workers, std::int64_t rows, std::int64_t pitch) {
    const GemmShape shape{rows, cols, 2 * kDepth};
    const auto block = static_cast<int>(cols);
    Plan plan = plan_for(kernel(), types, shape, {24, block, kDepth}, {});
    plan.tile.b_in_place = true;
    plan.schedule.kind = kind;
    plan.schedule.workers = workers;
    plan.machine.workers = 2;
    plan.machine.scratchpad_bytes = l2;
    Product product(types, shape, 0, Fill::normal, 1, {}, {.padding = pitch - cols});
    const Operands operands = product.operands();
    return cpu::step_of(plan, cpu::product_of(operands, plan, code)).depth;
  };
  const std::int64_t whole_pages = (4 * cols + 4095) / 4096 * 4096;
  const std::int64_t apart = whole_pages + 200 / size_of(kernel().b);
  for (const ScheduleKind kind :
       {ScheduleKind::stream_k, ScheduleKind::split_k, ScheduleKind::hybrid}) {
    EXPECT_EQ(depth(kind, 2, 5, apart), kDepth) << name_of(kind);
    EXPECT_LT(depth(kind, 1, 5, apart), kDepth) << name_of(kind);
  }
  // Not all of many logical workers' parts are different threads'.
  EXPECT_EQ(depth(ScheduleKind::stream_k, 64, 5, apart), kDepth);
  // More rows, but for those of B that lie whole pages apart; and many.
  EXPECT_EQ(depth(ScheduleKind::stream_k, 2, 12, apart), kDepth);
  EXPECT_LT(depth(ScheduleKind::stream_k, 2, 12, whole_pages), kDepth);
  if (is_narrow_tile(code.mr)) return;  // reads many rows of a block beside it at any rate
  EXPECT_LT(depth(ScheduleKind::stream_k, 2, 24, apart), kDepth);
}

// The further rows of B are apart, the fewer come side by side.
TEST_P(Kernels, FarRowsOfBComeAFewAtATime) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!cpu::has_two_units() || !code.reads_in_place || is_narrow_tile(code.mr)) {
    GTEST_SKIP() << "reads no rows of B, or as many whatever they are apart";
  }
  const GemmShape shape{24, 64, 300};
  const std::int64_t size = size_of(kernel().b);
  const auto depth = [&](std::int64_t row_bytes) {
    Plan plan = plan_for(kernel(), types_of(kernel(), true), shape, {24, 64, 300}, {});
    plan.tile.b_in_place = true;
    plan.machine.scratchpad_bytes = 4 << 10;
    Product product(plan.problem.types, shape, 0, Fill::normal, 1, {},
                    {.padding = row_bytes / size - shape.n});
    const Operands operands = product.operands();
    return cpu::step_of(plan, cpu::product_of(operands, plan, code)).depth;
  };
  EXPECT_EQ(depth((16 << 10) + 64), 48);
  EXPECT_EQ(depth(32 << 10), 64);
  EXPECT_EQ(depth((32 << 10) + 64), 24);
  EXPECT_EQ(depth(64 << 10), 24);
}

// B's columns, packed over bytes that are all `poison`.
std::vector<unsigned char> panels_of(const cpu::KernelCode& code, const cpu::PackSource& columns,
                                     unsigned char poison) {
  const std::int64_t panels = (columns.along + code.nr - 1) / code.nr;
  const auto bytes = static_cast<std::size_t>(panels * code.panel_bytes_b(columns.depth));
  std::vector<unsigned char> packed(bytes, poison);
  code.pack_b(columns, packed.data());
  return packed;
}

// B's columns along k, as many as vectors take, fewer and more, of any depth: the panels are those
// of the same elements that lie apart, which are packed one by one.
TEST_P(Kernels, PacksColumnsAlongKAsAnyOthers) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.refers_to_elements) GTEST_SKIP() << "panels say where their elements are";
  const std::int64_t size = size_of(kernel().b);
  constexpr std::int64_t kMostDepth = 71;
  const std::int64_t most_cols = 2 * code.nr + 1;
  const std::int64_t stride = kMostDepth + 2;
  const std::vector<unsigned char> dense = random_bytes(most_cols * stride * size, 17);
  std::vector<unsigned char> apart(3 * dense.size());
  for (std::int64_t i = 0; i < most_cols * stride; ++i) {
    std::copy_n(dense.data() + i * size, size, apart.data() + 3 * i * size);
  }
  for (std::int64_t cols = 1; cols <= most_cols; ++cols) {
    for (std::int64_t depth = 1; depth <= kMostDepth; depth += depth < 20 ? 1 : 17) {
      ASSERT_EQ(panels_of(code, {dense.data(), cols, depth, stride, 1}, 0x55),
                panels_of(code, {apart.data(), cols, depth, 3 * stride, 3}, 0xaa))
          << cols << " columns, k = " << depth;
    }
  }
}

// The same where columns lie so far apart that their lines drive each other out, and begin anywhere
// in a line: whole lines of them are transposed then.
TEST_P(Kernels, PacksColumnsThatCollideAsAnyOthers) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.refers_to_elements) GTEST_SKIP() << "panels say where their elements are";
  const std::int64_t size = size_of(kernel().b);
  const std::int64_t most_cols = 2 * code.nr + 1;
  const std::int64_t stride = 2048 / size;
  const std::int64_t line = 64 / size;
  const std::int64_t elements = most_cols * stride + line;
  std::vector<unsigned char> memory = random_bytes(elements * size + 64, 18);
  void* first_line = memory.data();
  std::size_t space = memory.size();
  std::align(64, static_cast<std::size_t>(elements * size), first_line, space);
  const auto* const from = static_cast<const unsigned char*>(first_line);
  std::vector<unsigned char> apart(static_cast<std::size_t>(3 * elements * size));
  for (std::int64_t i = 0; i < elements; ++i) {
    std::copy_n(from + i * size, size, apart.data() + 3 * i * size);
  }
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1}, line / 4, line - 1}) {
    for (const std::int64_t cols : {std::int64_t{3}, std::int64_t{code.nr}, most_cols}) {
      for (const std::int64_t depth :
           {line - 1, line, line + 3, 2 * line - 1, 4 * line, 5 * line + 2}) {
        ASSERT_EQ(
            panels_of(code, {from + begin * size, cols, depth, stride, 1}, 0x55),
            panels_of(code, {apart.data() + 3 * begin * size, cols, depth, 3 * stride, 3}, 0xaa))
            << cols << " columns from " << begin << ", k = " << depth;
      }
    }
  }
}

// A large C with a short k, along whose rows wide tiles go: rows and columns that no tile ends at,
// A and C otherwise laid, an epilogue, nothing to multiply. The bits are those of packed panels.
TEST_P(Kernels, AlongRowsOfALargeC) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!code.reads_in_place || code.wide_rows == 0 || is_narrow_tile(code.mr)) {
    GTEST_SKIP() << "has no wide registers, or widens A before";
  }
  constexpr std::int64_t kL2 = 16 << 10;
  std::uint64_t seed = 7000;
  for (const std::int64_t m : {41, 79}) {
    for (const std::int64_t n : {6 * code.nr, 5 * code.nr + 3}) {
      for (const std::int64_t k : {0, 1, 7, 32}) {
        for (int way = 0; way < 6; ++way) {
          const Placement place_a = {.column_major = way == 1, .padding = way};
          const Placement place_c = {.padding = 3, .step = way == 2 ? 2 : 1};
          const auto run = [&](bool in_place) {
            Plan plan = plan_for(kernel(), types_of(kernel()), {m, n, k}, {m, n, 32},
                                 way == 4 ? kSchedules[0] : Schedule{});
            plan.tile.a_in_place = in_place;
            plan.tile.b_in_place = in_place;
            plan.machine.scratchpad_bytes = kL2;
            plan.problem.alpha = way == 5 ? 0 : 0.5;
            plan.problem.beta = way % 2;
            if (way == 3) plan.problem.epilogue = {BiasAxis::row, Activation::relu};
            Product product(plan.problem.types, {m, n, k}, plan.problem.beta, Fill::normal, seed,
                            place_a, {.padding = way}, place_c);
            const Operands operands = product.operands();
            const cpu::Launch launch{plan, code, {}, {}};
            const cpu::Blocking blocking =
                cpu::blocking_of(launch, cpu::product_of(operands, plan, code));
            EXPECT_EQ(blocking.rows_ahead > 0 && blocking.sums_are_far, in_place);
            EXPECT_EQ(run_and_check(plan, product, 2), "")
                << m << "×" << n << "×" << k << ", way " << way;
            return product.c.bytes();
          };
          ASSERT_EQ(run(true), run(false)) << m << "×" << n << "×" << k << ", way " << way;
          ++seed;
        }
      }
    }
  }
}

// But not of f32 in a C that much second-level cache holds, where B's rows begin at lines.
TEST_P(Kernels, RegisterTilesWriteACThatL2Holds) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (!code.reads_in_place || code.wide_rows == 0 || is_narrow_tile(code.mr)) {
    GTEST_SKIP() << "has no wide registers, or widens A before";
  }
  const int size = size_of(code.accumulator);
  const GemmShape shape{2048, 640 / size, 9};  // C of 1.25 MB
  const auto goes_along_rows = [&](std::int64_t l2, std::int64_t padding) {
    Plan plan = plan_for(kernel(), types_of(kernel()), shape, {2048, 640 / size, 12}, {});
    plan.tile.a_in_place = true;
    plan.tile.b_in_place = true;
    plan.machine.scratchpad_bytes = l2;
    Product product(plan.problem.types, shape, 0, Fill::normal, 1, {}, {.padding = padding});
    Operands operands = product.operands();
    const auto begin = reinterpret_cast<std::uintptr_t>(operands.b.data);
    operands.b.data = reinterpret_cast<const void*>((begin + 63) / 64 * 64);
    return cpu::step_of(plan, cpu::product_of(operands, plan, code)).goes_along_rows;
  };
  const std::int64_t much = std::int64_t{2} << 20;
  EXPECT_EQ(goes_along_rows(much, 0), size != 4);
  EXPECT_TRUE(goes_along_rows(much, 3));
  EXPECT_TRUE(goes_along_rows(much / 2, 0));
}

// A few rows of C beside columns of B that are dealt: what a worker has stays in its L2, whatever
// all of them have, and is walked by wide tiles. The bits are those of packed panels.
TEST_P(Kernels, DealtColumnsStayWithTheirWorkers) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.wide_rows == 0 || !code.reads_in_place) GTEST_SKIP() << "has no wide tiles of its own";
  constexpr int kWorkers = 4;
  constexpr std::int64_t kDepth = 61;
  const std::int64_t each = 2 * code.nr;
  for (const std::int64_t m : {1, 5, 8}) {
    for (const std::int64_t n : {kWorkers * each, kWorkers * each - 3}) {
      const auto run = [&](bool in_place) {
        Plan plan = plan_for(kernel(), types_of(kernel()), {m, n, kDepth}, {m, each, kDepth},
                             {.workers = kWorkers});
        plan.tile.b_in_place = in_place;
        plan.machine.scratchpad_bytes = each * kDepth * size_of(kernel().b);
        plan.machine.l1_bytes = plan.machine.scratchpad_bytes / 2;
        Product product(plan.problem.types, {m, n, kDepth}, 0, Fill::normal, 77);
        const Operands operands = product.operands();
        const cpu::Launch launch{plan, code, {}, {}};
        const cpu::Blocking blocking =
            cpu::blocking_of(launch, cpu::product_of(operands, plan, code));
        EXPECT_EQ(blocking.rows_ahead > 0, in_place) << m << "×" << n;
        EXPECT_EQ(run_and_check(plan, product, 2), "") << m << "×" << n;
        return product.c.bytes();
      };
      ASSERT_EQ(run(true), run(false)) << m << "×" << n;
    }
  }
}

// B packed in passing: every number of rows and vectors that a register tile can have, one row left
// of a tile, pieces of A, ends of k, an epilogue, C of another type. The bits are those of packed
// panels.
TEST_P(Kernels, PackedInPassing) {
  const cpu::KernelCode& code = *cpu::find_code(kernel().name);
  if (code.passing_cols == 0) GTEST_SKIP() << "packs before it multiplies";
  const std::int64_t lanes = code.passing_cols / 3;
  std::uint64_t seed = 6000;
  for (std::int64_t m = code.mr + 1; m <= code.mr + 9; ++m) {
    for (const std::int64_t n :
         {2 * lanes, 2 * lanes + 1, 3 * lanes, 4 * lanes - 1, 7 * lanes + 5}) {
      for (const std::int64_t depth : {33, 36, 66, 259, -66, -259}) {
        const std::int64_t k = std::abs(depth);
        const bool is_odd = m % 2 == 1;
        const Placement place_a = {.column_major = depth < 0, .padding = is_odd ? 0 : 3};
        Plan plan = plan_for(kernel(), types_of(kernel(), k != 66), {2 * m + 1, n, k},
                             {m, n + (is_odd ? 0 : 3), k == 259 ? 100 : 320}, {});
        plan.tile.a_in_place = true;
        plan.tile.b_in_place = true;
        plan.tile.mc = k % 2 == 0 ? 8 : 0;
        plan.machine.scratchpad_bytes = kRoomForPassing;
        plan.machine.l1_bytes = kNearRoomForPassing;
        plan.problem.alpha = is_odd ? 1 : k == 36 ? 0 : 0.5;
        plan.problem.beta = k == 33 ? 0 : 1;
        if (n > 4 * lanes) plan.problem.epilogue = {BiasAxis::column, Activation::relu};
        Product product(plan.problem.types, {2 * m + 1, n, k}, plan.problem.beta, Fill::normal,
                        seed, place_a, {.padding = is_odd ? 5 : 0});
        const cpu::Launch launch{plan, code, {}, {}};
        EXPECT_TRUE(
            cpu::blocking_of(launch, cpu::product_of(product.operands(), plan, code)).passes);
        ASSERT_EQ(run_and_check(plan, product, 1), "") << m << "×" << n << "×" << k;
        plan.tile.a_in_place = false;
        plan.tile.b_in_place = false;
        Product packed(plan.problem.types, {2 * m + 1, n, k}, plan.problem.beta, Fill::normal,
                       seed++, place_a, {.padding = is_odd ? 5 : 0});
        ASSERT_EQ(run_and_check(plan, packed, 1), "");
        ASSERT_EQ(product.c.bytes(), packed.c.bytes()) << m << "×" << n << "×" << k;
      }
    }
  }
}

// Weights: packed once, multiplied by inputs of any number of rows, under plans that cut n
// otherwise.
TEST_P(Kernels, PackedAhead) {
  const int nr = kernel().tile.nr;
  std::uint64_t seed = 5000;
  for (const bool column_major : {false, true}) {
    const GemmShape largest{61, 3 * nr + 5, 131};
    Product weights(types_of(kernel()), largest, 0, Fill::normal, seed, {},
                    {.column_major = column_major, .padding = 3});
    Plan plan = plan_for(kernel(), types_of(kernel()), largest, {24, nr, 32}, kSchedules[0]);
    const PackedMatrix packed = pack_b(plan, weights.operands().b);
    for (const std::int64_t m : {1, 13, 61}) {
      for (const Schedule& schedule : kSchedules) {
        const GemmShape shape{m, largest.n, largest.k};
        plan = plan_for(kernel(), types_of(kernel()), shape, {24, 2 * nr, 32}, schedule);
        Product product(plan.problem.types, shape, 0, Fill::normal, seed++, {}, {},
                        {.column_major = m == 13});
        Operands operands = product.operands();
        operands.b = weights.operands().b;
        Operands without_b = operands;
        without_b.b.data = nullptr;
        without_b.packed_b = &packed;
        cpu::run_plan(plan, {&without_b, 1}, {.threads = 2});
        const std::vector<std::byte> from_packed = product.c.bytes();
        cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
        ASSERT_EQ(from_packed, product.c.bytes()) << m << " rows, " << name_of(schedule.kind);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
