// f16 in two parts is split and multiplied four times, which few rows, few columns, and a k that
// ends within a tile register do not pay for.
#include "plan/parts_pay.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/catalogue.hpp"
#include "tessera/error.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

TEST(PartsPay, TileRegistersGetWhatPaysForSplittingF16) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  ASSERT_EQ(machine.scratchpad_bytes, 2 << 20);
  const auto kernel_of = [&](const Problem& problem) {
    return make_plan(problem, machine, {}).kernel;
  };
  const auto f16 = [](const GemmShape& shape) {
    return dense_problem(shape, gemm_types_for(ElementType::f16));
  };
  constexpr const char* kParts = "cpu_amx_f16";
  constexpr const char* kWidened = "cpu_avx512_f16";
  for (const GemmShape& shape :
       {GemmShape{64, 64, 32}, {100, 100, 32}, {2000, 2000, 17}, {500, 16, 64}, {48, 1000, 32}}) {
    EXPECT_EQ(kernel_of(f16(shape)), kParts) << shape.m << "×" << shape.n << "×" << shape.k;
  }
  for (const GemmShape& shape : {GemmShape{64, 64, 24},
                                 {64, 64, 33},
                                 {100, 100, 16},
                                 {2000, 2000, 16},
                                 {500, 16, 32},
                                 {48, 1000, 24},
                                 {500, 8, 5000},
                                 {33, 4096, 4096},
                                 {1, 1, 1}}) {
    EXPECT_EQ(kernel_of(f16(shape)), kWidened) << shape.m << "×" << shape.n << "×" << shape.k;
  }
  PlanOptions named;
  named.kernel = kParts;
  EXPECT_EQ(make_plan(f16({1, 1, 1}), machine, named).kernel, kParts);

  // A B along k asks for fewer rows, an A across k for more columns.
  const auto with_b_along = [&](const GemmShape& shape) {
    Problem problem = f16(shape);
    problem.b.major = Major::column;
    return problem;
  };
  EXPECT_EQ(kernel_of(f16({32, 1000, 32})), kWidened);
  EXPECT_EQ(kernel_of(with_b_along({32, 1000, 32})), kParts);
  Problem a_across = f16({1000, 16, 64});
  EXPECT_EQ(kernel_of(a_across), kParts);
  a_across.a.major = Major::column;
  EXPECT_EQ(kernel_of(a_across), kWidened);

  // Few rows beside a B that comes from memory.
  for (const std::int64_t rows : {13, 16}) {
    EXPECT_EQ(kernel_of(f16({rows, 2048, 2048})), kParts);
    EXPECT_EQ(kernel_of(f16({rows, 2047, 2048})), kWidened);
    EXPECT_EQ(kernel_of(f16({rows, 1 << 22, 1})), kWidened);
  }
  EXPECT_EQ(kernel_of(f16({12, 4096, 4096})), kWidened);
  EXPECT_EQ(kernel_of(f16({17, 4096, 4096})), kWidened);
  for (const std::int64_t rows : {16, 24}) {
    EXPECT_EQ(kernel_of(with_b_along({rows, 4096, 2048})), kWidened);
    EXPECT_EQ(kernel_of(with_b_along({rows, 4096, 2047})), kParts);
  }
  EXPECT_EQ(kernel_of(with_b_along({25, 4096, 2048})), kParts);

  // A column-major C is its transpose's.
  Problem across = f16({1000, 32, 48});
  EXPECT_EQ(kernel_of(across), kParts);
  across.c.major = Major::column;
  across.a.major = Major::column;
  across.b.major = Major::column;
  EXPECT_EQ(kernel_of(across), kWidened);
  across.a.major = Major::row;
  EXPECT_EQ(kernel_of(across), kParts);
  // One expert with many rows does not make up for those with few.
  Problem experts = f16({200, 2000, 2000});
  EXPECT_EQ(kernel_of(experts), kParts);
  experts.groups.resize(40, {2, 2000, 2000});
  EXPECT_EQ(kernel_of(experts), kWidened);
}

TEST(PartsPay, SeveralWorkersAskForMoreWork) {
  const Machine machine = machine_by_name("sapphire-rapids");
  const auto kernel_of = [&](const GemmShape& shape, std::size_t products, int workers,
                             const PlanOptions& options = {}) {
    Problem problem = dense_problem(shape, gemm_types_for(ElementType::f16));
    problem.groups.resize(products, shape);
    return make_plan(problem, with_workers(machine, workers), options).kernel;
  };
  constexpr const char* kParts = "cpu_amx_f16";
  constexpr const char* kWidened = "cpu_avx512_f16";
  EXPECT_EQ(kernel_of({1000, 1000, 64}, 1, 16), kParts);
  EXPECT_EQ(kernel_of({1000, 999, 64}, 1, 16), kWidened);
  EXPECT_EQ(kernel_of({1000, 999, 64}, 1, 15), kParts);
  EXPECT_EQ(kernel_of({1000, 1000, 64}, 1, 56), kParts);
  EXPECT_EQ(kernel_of({100, 100, 64}, 1, 2), kParts);
  EXPECT_EQ(kernel_of({100, 100, 64}, 1, 3), kWidened);
  // What one worker has, or has to itself.
  EXPECT_EQ(kernel_of({64, 64, 64}, 1, 16), kParts);
  EXPECT_EQ(kernel_of({100, 100, 64}, 40, 16), kParts);
  PlanOptions by_one;
  by_one.workers = 1;
  EXPECT_EQ(kernel_of({300, 300, 300}, 1, 16, by_one), kParts);
  EXPECT_EQ(kernel_of({300, 300, 300}, 1, 16), kWidened);
}

Machine splitting(int workers) {
  Machine machine = with_workers(machine_by_name("sapphire-rapids"), workers);
  machine.splits_f32 = true;
  return machine;
}

TEST(PartsPay, F32IsSplitInThreeWhereTheMachineDoesAndItPays) {
  constexpr const char* kParts = "cpu_amx_f32";
  constexpr const char* kVectors = "cpu_avx512_f32";
  const auto kernel_of = [&](const GemmShape& shape, const Machine& machine,
                             const PlanOptions& options = {}) {
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::f32)), machine, options)
        .kernel;
  };
  for (const GemmShape& shape : {GemmShape{128, 128, 128},
                                 {1000, 1000, 48},
                                 {64, 512, 512},
                                 {512, 64, 512},
                                 {1024, 1024, 1024}}) {
    EXPECT_EQ(kernel_of(shape, splitting(1)), kParts)
        << shape.m << "×" << shape.n << "×" << shape.k;
  }
  for (const GemmShape& shape : {GemmShape{64, 64, 64},
                                 {1000, 1000, 47},
                                 {50, 4096, 4096},
                                 {4096, 50, 4096},
                                 {97, 97, 4096},
                                 {1, 1, 1}}) {
    EXPECT_EQ(kernel_of(shape, splitting(1)), kVectors)
        << shape.m << "×" << shape.n << "×" << shape.k;
  }
  // Two workers split more.
  EXPECT_EQ(kernel_of({128, 128, 128}, splitting(2)), kVectors);
  EXPECT_EQ(kernel_of({256, 256, 256}, splitting(2)), kParts);
  EXPECT_EQ(kernel_of({256, 256, 256}, splitting(16)), kVectors);

  Machine machine = splitting(1);
  machine.splits_f32 = false;
  EXPECT_EQ(kernel_of({1024, 1024, 1024}, machine), kVectors);
  PlanOptions named;
  named.kernel = kParts;
  EXPECT_EQ(kernel_of({1, 1, 1}, machine, named), kParts);
}

TEST(PartsPay, F64GoesByResiduesWhereTheMachineDoesAndItPays) {
  constexpr const char* kResidues = "cpu_amx_f64";
  constexpr const char* kVectors = "cpu_avx512_f64";
  const auto by_residues = [](int workers) {
    Machine machine = with_workers(machine_by_name("sapphire-rapids"), workers);
    machine.splits_f64 = true;
    return machine;
  };
  const auto plan = [](const GemmShape& shape, const Machine& machine,
                       const PlanOptions& options = {}) {
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::f64)), machine, options);
  };
  for (const GemmShape& shape : {GemmShape{512, 512, 512},
                                 {1024, 1024, 1024},
                                 {350, 700, 1200},
                                 {2000, 2000, 400},
                                 {3000, 3000, 3000}}) {
    EXPECT_EQ(plan(shape, by_residues(1)).kernel, kResidues)
        << shape.m << "×" << shape.n << "×" << shape.k;
  }
  for (const GemmShape& shape : {GemmShape{448, 448, 448},
                                 {128, 2000, 2000},
                                 {2000, 128, 2000},
                                 {2000, 2000, 200},
                                 {1, 1, 1}}) {
    EXPECT_EQ(plan(shape, by_residues(1)).kernel, kVectors)
        << shape.m << "×" << shape.n << "×" << shape.k;
  }
  // Two workers pack more.
  EXPECT_EQ(plan({512, 512, 512}, by_residues(2)).kernel, kVectors);
  EXPECT_EQ(plan({1024, 1024, 1024}, by_residues(2)).kernel, kResidues);
  // More were not measured, be it with a product for each.
  EXPECT_EQ(plan({3000, 3000, 3000}, by_residues(3)).kernel, kVectors);
  Problem group = dense_problem({1024, 1024, 1024}, gemm_types_for(ElementType::f64));
  group.groups.assign(40, group.groups.front());
  EXPECT_EQ(make_plan(group, by_residues(16)).kernel, kVectors);
  EXPECT_EQ(make_plan(group, by_residues(1)).kernel, kResidues);
  // A B that is packed ahead saves its packing, and A is not packed for each few of its panels.
  Problem packed = dense_problem({200, 4096, 1024}, gemm_types_for(ElementType::f64));
  EXPECT_EQ(make_plan(packed, by_residues(1)).kernel, kVectors);
  packed.b = kPackedLayout;
  PlanOptions as_packed;
  as_packed.kernel = kResidues;
  as_packed.tile.emplace().block_k = 1024;
  EXPECT_EQ(make_plan(packed, by_residues(1)).kernel, kResidues);
  EXPECT_EQ(make_plan(packed, by_residues(1), as_packed).tile.block_n, 4096);
  packed.groups.front().m = 150;
  EXPECT_EQ(make_plan(packed, by_residues(1)).kernel, kVectors);
  // A block of k as deep as its panels stay near.
  EXPECT_EQ(plan({1024, 1024, 1024}, by_residues(1)).tile.block_k, 1024);
  EXPECT_EQ(plan({2048, 2048, 2560}, by_residues(1)).tile.block_k, 1280);
  EXPECT_EQ(plan({2048, 2048, 2600}, by_residues(1)).tile.block_k, 896);

  Machine machine = by_residues(1);
  EXPECT_DOUBLE_EQ(best_rate(ElementType::f64, machine), machine.peak(ElementType::i8) / 15);
  const std::string reason = plan({1024, 1024, 1024}, machine).reason;
  EXPECT_NE(reason.find("15 residues of 8 bits"), std::string::npos) << reason;
  const std::string as_it_is = plan({40, 40, 40}, machine).reason;
  EXPECT_NE(as_it_is.find("residues are not known to save time"), std::string::npos) << as_it_is;
  PlanOptions invariant;
  invariant.batch_invariant = true;
  const Plan alone = plan({1024, 1024, 1024}, machine, invariant);
  EXPECT_EQ(alone.kernel, kVectors);
  EXPECT_NE(alone.reason.find("bits would depend on others"), std::string::npos) << alone.reason;
  invariant.kernel = kResidues;
  EXPECT_THROW(plan({1024, 1024, 1024}, machine, invariant), Error);

  machine.splits_f64 = false;
  EXPECT_EQ(plan({1024, 1024, 1024}, machine).kernel, kVectors);
  EXPECT_DOUBLE_EQ(best_rate(ElementType::f64, machine), machine.peak(ElementType::f64));
  PlanOptions named;
  named.kernel = kResidues;
  EXPECT_EQ(plan({1, 1, 1}, machine, named).kernel, kResidues);
}

TEST(PartsPay, WhatF32IsSplitForIsSaid) {
  const Problem problem = dense_problem({1024, 1024, 1024}, gemm_types_for(ElementType::f32));
  Machine machine = splitting(1);
  const std::string reason = make_plan(problem, machine, {}).reason;
  EXPECT_NE(reason.find("f32 is split in three parts of bf16"), std::string::npos) << reason;
  EXPECT_NE(reason.find("as precise"), std::string::npos) << reason;
  EXPECT_DOUBLE_EQ(best_rate(ElementType::f32, machine), machine.peak(ElementType::bf16) / 6);
  machine.splits_f32 = false;
  EXPECT_DOUBLE_EQ(best_rate(ElementType::f32, machine), machine.peak(ElementType::f32));
  EXPECT_EQ(make_plan(problem, machine, {}).reason.find("split"), std::string::npos);
  // And what not.
  const Problem small = dense_problem({40, 40, 40}, gemm_types_for(ElementType::f32));
  const std::string as_it_is = make_plan(small, splitting(1), {}).reason;
  EXPECT_NE(as_it_is.find("splitting it would cost more"), std::string::npos) << as_it_is;
}

// Whether a strip is split is decided for all of its rows.
TEST(PartsPay, F32IsNotSplitWhereRowsMustNotMatterToEachOther) {
  const Problem problem = dense_problem({1024, 1024, 1024}, gemm_types_for(ElementType::f32));
  PlanOptions options;
  options.batch_invariant = true;
  const Plan plan = make_plan(problem, splitting(1), options);
  EXPECT_EQ(plan.kernel, "cpu_avx512_f32");
  EXPECT_NE(plan.reason.find("its parts would depend on other rows"), std::string::npos)
      << plan.reason;
  options.kernel = "cpu_amx_f32";
  try {
    make_plan(problem, splitting(1), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("batch_invariant"), std::string::npos) << error.what();
  }
}

TEST(PartsPay, NotForAnEmptyProductOrAnUnknownCache) {
  Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  EXPECT_FALSE(parts_pay({.rows = 0, .columns = 4096, .k = 4096}, machine));
  EXPECT_FALSE(parts_pay({.rows = 16, .columns = 4096, .k = 0}, machine));
  EXPECT_TRUE(parts_pay({.rows = 16, .columns = 4096, .k = 4096}, machine));
  EXPECT_FALSE(parts_pay({.rows = 16, .columns = 4096, .k = 4096, .is_alone = false}, machine));
  machine.scratchpad_bytes = 0;
  EXPECT_FALSE(parts_pay({.rows = 16, .columns = 4096, .k = 4096}, machine));
  EXPECT_FALSE(three_parts_pay({.rows = 0, .columns = 4096, .k = 4096}));
  EXPECT_FALSE(three_parts_pay({.rows = 4096, .columns = 4096, .k = 0}));
}

}  // namespace
}  // namespace tessera
