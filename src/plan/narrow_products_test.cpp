// What the planner makes of small products and of few columns on a CPU.
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "plan/cpu_blocks.hpp"
#include "plan/orientation.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

// What is small goes down all of k at once, however long that is, by the short way.
TEST(NarrowProducts, ThatAreSmallTakeOnePassOverK) {
  const Machine machine = machine_by_name("zen5");
  const GemmTypes types{ElementType::f32, ElementType::f32, ElementType::f32};
  for (const GemmShape& shape : {GemmShape{8, 8, 500}, {8, 32, 1000}, {5, 6, 1237}, {2, 8, 9000}}) {
    const Plan plan = make_plan(dense_problem(shape, types), machine);
    EXPECT_TRUE(plan.tile.a_in_place && plan.tile.b_in_place) << shape.k;
    EXPECT_GE(plan.tile.block_k, shape.k);
  }
}

// Few columns of a transposed B make dots of more rows than many do.
TEST(NarrowProducts, WhoseDotsNeedLessDepth) {
  const Machine machine = machine_by_name("zen5");
  const GemmTypes types{ElementType::f32, ElementType::f32, ElementType::f32};
  const auto are_dots = [&](const GemmShape& shape) {
    Problem problem = dense_problem(shape, types);
    problem.b.major = Major::column;
    return make_plan(problem, machine).tile.b_in_place;
  };
  EXPECT_TRUE(are_dots({8, 8, 60}));
  EXPECT_TRUE(are_dots({16, 8, 40}));
  EXPECT_FALSE(are_dots({16, 16, 64}));
  EXPECT_TRUE(are_dots({16, 16, 128}));
  EXPECT_FALSE(are_dots({16, 40, 127}));
}

// Rows of A along k beside a few columns of B are dot products: A stays where it is, B is copied.
// Not where k is short for the rows that share it.
TEST(NarrowProducts, OfALongKAreDots) {
  const Machine machine = machine_by_name("zen5");
  const GemmTypes types{ElementType::f32, ElementType::f32, ElementType::f32};
  for (const GemmShape& shape :
       {GemmShape{170, 4, 71}, {299, 8, 242}, {668, 8, 172}, {50, 3, 20}}) {
    const Plan plan = make_plan(dense_problem(shape, types), machine);
    EXPECT_TRUE(plan.tile.a_in_place && !plan.tile.b_in_place) << shape.m << "×" << shape.n;
  }
  // More columns with wide registers, if there is enough to do and k is long for them.
  for (const auto& [shape, are_dots] : {std::pair{GemmShape{100, 10, 1000}, true},
                                        {{41, 12, 1330}, true},
                                        {{27, 14, 1050}, true},
                                        {{20, 10, 500}, false},
                                        {{400, 13, 250}, false},
                                        {{100, 16, 1000}, false}}) {
    const Problem problem = dense_problem(shape, types);
    const Plan plan = make_plan(problem, machine);
    EXPECT_EQ(is_turned(problem, shape, plan.tile, machine), are_dots) << shape.m << "×" << shape.n;
  }
  Problem transposed = dense_problem({8, 100, 20}, types);
  transposed.b.major = Major::column;
  EXPECT_FALSE(make_plan(transposed, machine).tile.b_in_place);
  transposed.groups = {{8, 100, 200}};
  EXPECT_TRUE(make_plan(transposed, machine).tile.b_in_place);
}

// Bytes along k beside few others that lie across are dots, too, where k is long for copying those.
TEST(NarrowProducts, OfBytesAreDots) {
  const Machine machine = with_workers(machine_by_name("zen4"), 1);
  const GemmTypes types = gemm_types_for(ElementType::i8);
  for (const GemmShape& shape : {GemmShape{1589, 2, 1445}, {300, 3, 200}, {643, 8, 520}}) {
    EXPECT_TRUE(make_plan(dense_problem(shape, types), machine).tile.a_in_place) << shape.n;
  }
  const auto are_dots = [&](const GemmShape& shape) {
    Problem problem = dense_problem(shape, types);
    problem.a.major = Major::column;
    problem.b.major = Major::column;
    return make_plan(problem, machine).tile.b_in_place;
  };
  EXPECT_TRUE(are_dots({3, 200, 1000}));
  EXPECT_TRUE(are_dots({12, 200, 1000}));
  EXPECT_FALSE(are_dots({12, 200, 520}));
  EXPECT_FALSE(are_dots({8, 200, 300}));
}

// The fewer columns, the deeper dots are; threads with few rows each may share them by blocks of k.
TEST(NarrowProducts, OfFewColumnsAreDeepDots) {
  const auto depth_of = [](const GemmShape& shape, int workers) {
    const Machine machine = with_workers(machine_by_name("zen4"), workers);
    return make_plan(dense_problem(shape, gemm_types_for(ElementType::f64)), machine).tile.block_k;
  };
  EXPECT_GE(depth_of({97, 1, 1132}, 1), 1132);
  EXPECT_GE(depth_of({300, 3, 1000}, 1), 1000);
  EXPECT_LT(depth_of({300, 3, 4000}, 1), 4000);
  EXPECT_GE(depth_of({300, 3, 1000}, 2), 1000);
  EXPECT_LE(depth_of({100, 3, 1000}, 2), 640);
}

// With much second-level cache a vector's columns, or nearly so many, are multiplied by tall
// register tiles, all of k at a time; others make dot products as elsewhere.
TEST(NarrowProducts, OfAVectorAreTall) {
  const Machine machine = with_workers(machine_by_name("sapphire-rapids"), 1);
  const auto is_tall = [&](const GemmShape& shape, ElementType type, Major b,
                           const Machine& where) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.b.major = b;
    const TileConfig tile = make_plan(problem, where).tile;
    return !is_turned(problem, shape, tile, where) && tile.a_in_place &&
           tile.b_in_place == (b == Major::row) && tile.block_k >= shape.k;
  };
  constexpr ElementType f32 = ElementType::f32;
  constexpr ElementType f64 = ElementType::f64;
  for (const auto& [shape, type, b, expected] :
       {std::tuple{GemmShape{1000, 12, 1500}, f32, Major::row, true},
        {{1000, 16, 3000}, f32, Major::row, true},
        {{60, 14, 400}, f32, Major::row, true},
        {{200, 6, 50}, f32, Major::row, true},
        {{200, 4, 50}, f32, Major::row, false},
        {{200, 8, 400}, f32, Major::row, false},
        // Rows that lie across lines cost dot products more, and so do columns that few rows share.
        {{200, 10, 800}, f32, Major::row, false},
        {{200, 10, 803}, f32, Major::row, true},
        {{32, 12, 963}, f32, Major::row, true},
        {{32, 10, 1504}, f32, Major::row, true},
        {{200, 12, 800}, f32, Major::column, false},
        {{200, 12, 803}, f32, Major::column, true},
        {{1000, 5, 250}, f64, Major::row, true},
        {{1000, 2, 250}, f64, Major::row, false},
        {{200, 12, 150}, f32, Major::column, true},
        {{20, 12, 400}, f32, Major::column, false},
        {{200, 8, 400}, f32, Major::column, false},
        {{200, 8, 150}, f64, Major::column, true},
        {{20, 8, 400}, f64, Major::column, false}}) {
    EXPECT_EQ(is_tall(shape, type, b, machine), expected)
        << shape.m << "×" << shape.n << "×" << shape.k;
  }
  EXPECT_FALSE(is_tall({1000, 12, 1500}, f32, Major::row, machine_by_name("zen5")));
  // Rows whole pages apart collide; a long k leaves too few rows in a piece of A.
  EXPECT_FALSE(is_tall({1000, 12, 2048}, f32, Major::row, machine));
  const GemmShape deep{1000, 16, 20000};
  EXPECT_LT(make_plan(dense_problem(deep, gemm_types_for(f32)), machine).tile.block_k, 4000);
}

// Of many rows, too, where columns leave lanes of vectors empty and k is long: B's columns along k
// lie where they are, and others are copied. Not of columns that fill vectors, or of a short k.
TEST(NarrowProducts, ThatLeaveLanesAreDotsOfManyRows) {
  const Machine machine = with_workers(machine_by_name("zen4"), 1);
  const GemmTypes types{ElementType::f32, ElementType::f32, ElementType::f32};
  for (const auto& [shape, are_dots] : {std::pair{GemmShape{200, 18, 600}, true},
                                        {{200, 33, 600}, true},
                                        {{40, 20, 2262}, true},
                                        {{200, 32, 600}, false},
                                        {{200, 18, 64}, false}}) {
    Problem problem = dense_problem(shape, types);
    problem.b.major = Major::column;
    EXPECT_EQ(make_plan(problem, machine).tile.b_in_place, are_dots) << shape.n << ", " << shape.k;
  }
  for (const auto& [shape, are_dots] : {std::pair{GemmShape{200, 18, 600}, true},
                                        {{1029, 21, 619}, true},
                                        {{30, 18, 600}, false},
                                        {{200, 26, 600}, false},
                                        {{200, 18, 100}, false}}) {
    const Problem problem = dense_problem(shape, types);
    const Plan plan = make_plan(problem, machine);
    EXPECT_EQ(is_turned(problem, shape, plan.tile, machine), are_dots) << shape.n;
    if (are_dots) {
      EXPECT_TRUE(plan.tile.a_in_place && !plan.tile.b_in_place) << shape.n;
    }
  }
}

// Rows that lie across k run along vectors beside few columns, where registers are short, too.
TEST(NarrowProducts, BesideColumnsOfAAreTurned) {
  const Machine machine = with_workers(machine_by_name("avx2-laptop"), 1);
  const auto is_turned_there = [&](ElementType type, const GemmShape& shape) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.a.major = Major::column;
    return is_turned(problem, shape, make_plan(problem, machine).tile, machine);
  };
  using enum ElementType;
  for (const ElementType type : {f32, f64, bf16, f16, i8}) {
    EXPECT_TRUE(is_turned_there(type, {1000, 8, 1000})) << name_of(type);
    EXPECT_TRUE(is_turned_there(type, {1000, 2, 32})) << name_of(type);
    EXPECT_FALSE(is_turned_there(type, {1000, 25, 1000})) << name_of(type);
    EXPECT_FALSE(is_turned_there(type, {20, 8, 20})) << name_of(type);
  }
  EXPECT_TRUE(is_turned_there(f32, {2000, 16, 1000}));
  EXPECT_FALSE(is_turned_there(f32, {500, 16, 1000}));
  EXPECT_FALSE(is_turned_there(f64, {2000, 16, 1000}));
  EXPECT_TRUE(is_turned_there(bf16, {100, 4, 4}));
  EXPECT_FALSE(is_turned_there(bf16, {5, 4, 4}));
  EXPECT_FALSE(is_turned_there(f32, {12, 2, 32}));
}

// Columns that lie along k are not cut where they are dealt, and are dealt evenly.
TEST(NarrowProducts, AsDotsAreDealtEvenly) {
  const Machine machine = with_workers(machine_by_name("zen4"), 2);
  const GemmTypes types{ElementType::f32, ElementType::f32, ElementType::f32};
  for (const GemmShape& shape : {GemmShape{1222, 5, 679}, {142, 2, 1008}}) {
    const Plan plan = make_plan(dense_problem(shape, types), machine);
    EXPECT_EQ(plan.schedule.workers, 2) << shape.m;
    EXPECT_EQ(plan.tile.block_m, round_up_to(shape.m / 2, 8)) << shape.m;
  }
  // By whole panels where B may be packed ahead.
  Problem transposed = dense_problem({4, 1000, 1000}, types);
  transposed.b.major = Major::column;
  const TileConfig tile = make_plan(transposed, machine).tile;
  EXPECT_TRUE(tile.b_in_place);
  EXPECT_LT(tile.block_n, 1000);
  EXPECT_EQ(tile.block_n % tile.nr, 0);
}

// Few rows of a small product go down all of k beside a B in place, whose panels would not fit.
TEST(NarrowProducts, OfFewRowsTakeOnePassBesideBInPlace) {
  const Machine machine = with_workers(machine_by_name("zen4"), 1);
  const TileConfig tile =
      make_plan(dense_problem({1, 53, 1221}, gemm_types_for(ElementType::f64)), machine).tile;
  EXPECT_TRUE(tile.b_in_place);
  EXPECT_GE(tile.block_k, 1221);
}

}  // namespace
}  // namespace tessera
