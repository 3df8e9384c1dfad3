// What stays near is read where it lies, some of k at a time (core/near_rule.hpp): the short way
// and the general one, for every microkernel of the catalogue that packs in passing otherwise, with
// the bits of that.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/blocking.hpp"
#include "cpu/direct.hpp"
#include "cpu/product.hpp"
#include "cpu/run.hpp"
#include "support/behind_a_line.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::BehindALine;
using test::Fill;
using test::Kernels;
using test::kMostPeers;
using test::plan_for;
using test::Product;
using test::types_of;

constexpr std::int64_t kMuchL2 = 2 << 20;
constexpr std::int64_t kLessL2 = 1 << 20;

// Some panels of four vectors, whose next one is fetched, and columns behind them; rows at lines
// and off them; register tiles of every number of rows.
const std::vector<GemmShape> kShapes = {{40, 144, 300}, {13, 33, 170}, {31, 50, 273},
                                        {17, 24, 200},  {64, 64, 290}, {35, 192, 150},
                                        {20, 128, 270}, {26, 192, 150}};
constexpr std::int64_t kDepth = 136;

Plan plan_of(const KernelEntry& kernel, const GemmShape& shape, std::int64_t l2) {
  Plan plan = plan_for(kernel, types_of(kernel, true), shape, {shape.m, shape.n, kDepth}, {});
  plan.tile.a_in_place = plan.tile.b_in_place = true;
  plan.machine.scratchpad_bytes = l2;
  plan.machine.l1_bytes = 48 << 10;
  plan.problem.alpha = 1.5;
  plan.problem.beta = 0.5;
  return plan;
}

bool reads_near(const Plan& plan, const Operands& operands) {
  const cpu::KernelCode& code = cpu::code_of(plan);
  const cpu::Launch launch{plan, code, {&operands, 1}, {}};
  return cpu::blocking_of(launch, cpu::product_of(operands, plan, code)).reads_near;
}

TEST_P(Kernels, WhatStaysNearGoesTheShortWayInBlocksOfK) {
  if (cpu::find_code(kernel().name)->passing_cols == 0) GTEST_SKIP() << "packs beforehand";
  for (const GemmShape& shape : kShapes) {
    for (const bool a_is_across : {false, true}) {
      // Whether sums can be collected in C.
      for (const std::int64_t step : {1, 2}) {
        SCOPED_TRACE(testing::Message() << shape.m << "×" << shape.n << "×" << shape.k
                                        << (a_is_across ? ", A across" : "") << ", step " << step);
        const auto run = [&](std::int64_t l2) {
          const Plan plan = plan_of(kernel(), shape, l2);
          Product product(plan.problem.types, shape, 0.5, Fill::normal, 51,
                          {.column_major = a_is_across, .padding = 3}, {}, {.step = step});
          Operands operands = product.operands();
          const BehindALine b(operands.b, 0);
          operands.b = b.view();
          const bool is_near = l2 == kMuchL2;
          EXPECT_EQ(cpu::run_directly(plan, cpu::code_of(plan), {&operands, 1}, 1), is_near);
          if (!is_near) cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
          EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
          return product.c.bytes();
        };
        EXPECT_TRUE(run(kMuchL2) == run(kLessL2));
      }
    }
  }
}

// Parts of its columns are dealt, or of its rows where lines of C would be cut, to as many workers
// as the plan has.
TEST_P(Kernels, WhatStaysNearIsDealtInParts) {
  if (cpu::find_code(kernel().name)->passing_cols == 0) GTEST_SKIP() << "packs beforehand";
  for (const auto& [shape, of_columns] :
       {std::pair(GemmShape{48, 128, 290}, true), {{48, 98, 290}, false}}) {
    for (const std::int64_t step : {1, 2}) {
      for (const bool a_is_across : {false, true}) {
        SCOPED_TRACE(testing::Message() << shape.n << " columns, step " << step);
        const auto run = [&, &shape = shape, of_columns = of_columns](int workers) {
          Plan plan = plan_of(kernel(), shape, kMuchL2);
          plan.schedule.workers = workers;
          Product product(plan.problem.types, shape, 0.5, Fill::normal, 52,
                          {.column_major = a_is_across}, {.padding = 128 - shape.n},
                          {.step = step});
          Operands operands = product.operands();
          const BehindALine b(operands.b, 0);
          operands.b = b.view();
          const cpu::KernelCode& code = cpu::code_of(plan);
          const auto form = cpu::direct_form(plan, code, operands);
          EXPECT_TRUE(form.has_value() && form->depth > form->task.depth);
          if (form && workers > 1 && step == 1) {
            EXPECT_EQ(cpu::share_of(*form, workers).of_columns, of_columns);
          }
          EXPECT_TRUE(cpu::run_directly(plan, code, {&operands, 1}, workers));
          EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
          return product.c.bytes();
        };
        EXPECT_TRUE(run(1) == run(2));
      }
    }
  }
}

// Where L2 has room parts of rows are no whole register tiles of packed ones, and have the bits of
// the whole.
TEST_P(Kernels, PartsOfFewRows) {
  const KernelEntry& entry = kernel();
  if (!cpu::find_code(entry.name)->reads_in_place) GTEST_SKIP() << "packs, groups or widens";
  if (is_narrow_tile(entry.tile.mr)) GTEST_SKIP() << "has few registers";
  for (const std::int64_t more : {4, 19}) {
    for (const std::int64_t step : {1, 2}) {
      for (const bool a_is_across : {false, true}) {
        const GemmShape shape{entry.tile.mr + more, entry.tile.nr + 1, 40};
        const auto run = [&](std::int64_t l2, int workers) {
          Plan plan = plan_of(entry, shape, l2);
          plan.schedule.workers = workers;
          Product product(plan.problem.types, shape, 0.5, Fill::normal, 55,
                          {.column_major = a_is_across}, {}, {.step = step});
          const Operands operands = product.operands();
          const cpu::KernelCode& code = cpu::code_of(plan);
          const auto form = cpu::direct_form(plan, code, operands);
          EXPECT_TRUE(form.has_value());
          if (!form) return product.c.bytes();
          const cpu::Share share = cpu::share_of(*form, workers);
          const std::int64_t part = (shape.m + 1) / 2;
          const std::int64_t of_two = l2 == kMuchL2 ? part : 0;
          EXPECT_EQ(workers == 2 ? share.size : of_two, of_two);
          EXPECT_EQ(cpu::run_directly(plan, code, {&operands, 1}, workers),
                    workers == 1 || l2 == kMuchL2);
          if (workers == 1 || l2 == kMuchL2) {
            EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
          }
          return product.c.bytes();
        };
        EXPECT_TRUE(run(kMuchL2, 2) == run(kMuchL2, 1));
        run(kLessL2, 2);
      }
    }
  }
}

// Products of a group are dealt whole, unless one is more than a thread's share.
TEST_P(Kernels, GroupsOfWhatStaysNear) {
  if (cpu::find_code(kernel().name)->passing_cols == 0) GTEST_SKIP() << "packs beforehand";
  const GemmShape shape{96, 128, 290};
  for (const std::size_t count : {2, 3, 8}) {
    Plan plan = plan_of(kernel(), shape, kMuchL2);
    plan.problem.groups.assign(count, shape);
    std::vector<Product> products;
    std::vector<BehindALine> bs;
    std::vector<Operands> groups;
    products.reserve(count);
    bs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      products.emplace_back(plan.problem.types, shape, 0.5, Fill::normal, 60 + i);
      groups.push_back(products.back().operands());
      // Off a line its rows are too long.
      bs.emplace_back(groups.back().b, i == 2 ? 16 : 0);
      groups.back().b = bs.back().view();
    }
    const bool goes = cpu::run_directly(plan, cpu::code_of(plan), groups, 2);
    EXPECT_EQ(goes, count == 2);
    if (!goes) cpu::run_plan(plan, groups, {.threads = 2});
    for (Product& product : products) {
      EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
    }
    if (count == 2) {
      EXPECT_FALSE(cpu::run_directly(plan, cpu::code_of(plan), groups, 3));
    }
  }
}

// What has an epilogue, or pieces of k for several workers.
TEST_P(Kernels, WhatStaysNearIsReadSoByTheGeneralWay) {
  if (cpu::find_code(kernel().name)->passing_cols == 0) GTEST_SKIP() << "packs beforehand";
  const std::vector<Schedule> schedules = {
      {},
      {.kind = ScheduleKind::split_k, .workers = 2, .splits = 2},
      {.kind = ScheduleKind::stream_k, .workers = 3},
      {.kind = ScheduleKind::hybrid, .workers = 2}};
  for (const GemmShape& shape : kShapes) {
    for (const Schedule& schedule : schedules) {
      for (const std::int64_t step : {1, 2}) {
        SCOPED_TRACE(testing::Message() << shape.m << "×" << shape.n << "×" << shape.k << ", "
                                        << name_of(schedule.kind) << ", step " << step);
        const auto run = [&](std::int64_t l2) {
          Plan plan = plan_of(kernel(), shape, l2);
          plan.schedule = schedule;
          plan.problem.epilogue = {BiasAxis::column, Activation::relu};
          Product product(plan.problem.types, shape, 0.5, Fill::normal, 53, {}, {}, {.step = step});
          Operands operands = product.operands(plan.problem.epilogue);
          const BehindALine b(operands.b, 0);
          operands.b = b.view();
          EXPECT_EQ(reads_near(plan, operands), l2 == kMuchL2);
          cpu::run_plan(plan, {&operands, 1}, {.threads = 2});
          EXPECT_EQ(check_product(product, 1.5, 0.5, plan.problem.epilogue, kMostPeers), "");
          return product.c.bytes();
        };
        EXPECT_TRUE(run(kMuchL2) == run(kLessL2));
      }
    }
  }
}

// A product that would take the short way under a plan of one tile, under one of tiles that are too
// small to read B so, and one of a plan whose workers have pieces of k.
TEST_P(Kernels, OtherPlansOfWhatStaysNearGoTheGeneralWay) {
  if (cpu::find_code(kernel().name)->passing_cols == 0) GTEST_SKIP() << "packs beforehand";
  const GemmShape shape{48, 64, 290};
  Product product(types_of(kernel(), true), shape, 0.5, Fill::normal, 54);
  Operands operands = product.operands();
  const BehindALine b(operands.b, 0);
  operands.b = b.view();
  const auto goes = [&](const Plan& plan) {
    return cpu::direct_form(plan, cpu::code_of(plan), operands).has_value();
  };
  const Plan plan = plan_of(kernel(), shape, kMuchL2);
  EXPECT_TRUE(goes(plan));
  Plan of_small_tiles = plan;
  of_small_tiles.tile.block_m = kernel().tile.mr;
  EXPECT_FALSE(goes(of_small_tiles));
  Plan in_pieces = plan;
  in_pieces.schedule = {.kind = ScheduleKind::split_k, .workers = 2, .splits = 2};
  EXPECT_FALSE(goes(in_pieces));
}

}  // namespace
}  // namespace tessera
