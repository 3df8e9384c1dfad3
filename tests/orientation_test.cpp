// The planner and the backend find out by themselves which way round a product is computed: the one
// from layouts, the other from strides. They have to agree, or blocks lie across.
#include "plan/orientation.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "core/catalogue.hpp"
#include "cpu/kernels.hpp"
#include "cpu/product.hpp"
#include "tessera/problem.hpp"

namespace tessera {
namespace {

// 16 of an element's bytes and fewer, and what the rule calls long.
constexpr std::int64_t kDepths[] = {1, 8, 16, 40, 70, 150, 300, 600, 2000};

// What is never read: only strides count.
alignas(64) std::byte operand_bytes[3][1 << 24];

template <class View, class Bytes>
View view_of(Bytes* bytes, std::int64_t rows, std::int64_t cols, bool column_major,
             std::int64_t padding, ElementType type) {
  return column_major ? View{bytes, rows, cols, 1, rows + padding, type}
                      : View{bytes, rows, cols, cols + padding, 1, type};
}

// Without tall register tiles, and with them.
const Machine kMachine = machine_by_name("zen5");
const Machine kTallMachine = machine_by_name("sapphire-rapids");

void expect_agreement(const KernelEntry& kernel, const GemmShape& shape, int majors,
                      std::int64_t padding, const Machine& machine) {
  const auto is_column_major = [&](int operand) { return (majors >> operand & 1) != 0; };
  const ElementType sums = accumulator_of({kernel.a, kernel.b, kernel.a});
  Operands operands;
  operands.a = view_of<ConstMatrixView>(operand_bytes[0], shape.m, shape.k, is_column_major(0),
                                        padding, kernel.a);
  operands.b = view_of<ConstMatrixView>(operand_bytes[1], shape.k, shape.n, is_column_major(1),
                                        padding, kernel.b);
  operands.c =
      view_of<MatrixView>(operand_bytes[2], shape.m, shape.n, is_column_major(2), padding, sums);
  const cpu::KernelCode& code = *cpu::find_code(kernel.name);
  for (const double beta : {0, 1}) {
    const Problem problem = describe({&operands, 1}, 1, beta, {});
    for (const bool rows_alike : {false, true}) {
      Plan plan;
      plan.problem = problem;
      plan.machine = machine;
      plan.tile = kernel.tile;
      plan.tile.rows_alike = rows_alike;
      EXPECT_EQ(is_turned(problem, shape, plan.tile, machine),
                cpu::is_better_turned(operands, plan, code))
          << kernel.name << " " << shape.m << "×" << shape.n << "×" << shape.k << ", majors "
          << majors << ", padding " << padding << ", beta " << beta << ", rows alike "
          << rows_alike;
    }
  }
}

TEST(Orientation, IsTheSameForThePlannerAndTheBackend) {
  for (const KernelEntry& kernel : cpu_kernels()) {
    if (cpu::find_code(kernel.name) == nullptr) continue;
    for (const std::int64_t k : kDepths) {
      for (const GemmShape& shape :
           {GemmShape{1, 1, k}, GemmShape{1, 9, k}, GemmShape{9, 1, k}, GemmShape{3, 7, k},
            GemmShape{7, 3, k}, GemmShape{40, 2, k}, GemmShape{40, 6, k}, GemmShape{7, 40, k},
            GemmShape{2, 40, k}, GemmShape{40, 8, k}, GemmShape{30, 30, k}, GemmShape{130, 9, k},
            GemmShape{18, 100, k}, GemmShape{100, 18, k}, GemmShape{1100, 16, k},
            GemmShape{1, 2, k}, GemmShape{2, 2, k}, GemmShape{3, 6, k}, GemmShape{2, 8, k}}) {
        for (int majors = 0; majors < 8; ++majors) {
          for (const Machine& machine : {kMachine, kTallMachine}) {
            expect_agreement(kernel, shape, majors, 0, machine);
            expect_agreement(kernel, shape, majors, 3, machine);
          }
        }
      }
    }
  }
}

// Along C's rows for a short k, down its columns for a long one.
TEST(Orientation, OfFewColumnsDependsOnTheDepth) {
  const auto is_down = [](const GemmShape& shape, ElementType type, int nr, Major a) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.a.major = a;
    return is_turned(problem, shape, {.mr = 12, .nr = nr}, kMachine);
  };
  using enum ElementType;
  EXPECT_FALSE(is_down({300, 5, 4}, f32, 32, Major::row));
  EXPECT_FALSE(is_down({383, 8, 18}, f32, 32, Major::row));
  EXPECT_TRUE(is_down({170, 4, 71}, f32, 32, Major::row));
  EXPECT_TRUE(is_down({1000, 2, 30}, f32, 32, Major::row));
  EXPECT_TRUE(is_down({200, 1, 16}, f32, 32, Major::row));
  EXPECT_FALSE(is_down({200, 1, 15}, f32, 32, Major::row));
  EXPECT_TRUE(is_down({200, 1, 2}, f32, 32, Major::column));
  EXPECT_TRUE(is_down({200, 1, 8}, f64, 16, Major::row));
  EXPECT_FALSE(is_down({200, 1, 16}, bf16, 32, Major::row));
  EXPECT_TRUE(is_down({200, 1, 32}, bf16, 32, Major::row));
  EXPECT_FALSE(is_down({200, 2, 127}, i8, 32, Major::row));
  EXPECT_TRUE(is_down({200, 2, 128}, i8, 32, Major::row));
  EXPECT_FALSE(is_down({200, 7, 511}, i8, 32, Major::row));
  EXPECT_TRUE(is_down({200, 7, 512}, i8, 32, Major::row));
  EXPECT_TRUE(is_down({200, 2, 64}, i8, 32, Major::column));
  EXPECT_FALSE(is_down({200, 2, 7}, f32, 16, Major::row));  // AVX2's
  EXPECT_TRUE(is_down({200, 2, 8}, f32, 16, Major::row));
  EXPECT_FALSE(is_down({200, 2, 31}, f32, 16, Major::column));
  EXPECT_TRUE(is_down({200, 2, 32}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({23, 2, 32}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({8, 8, 500}, f32, 32, Major::row));  // no long side
  // More columns where A lies across k, and vectors are fuller down the long side.
  EXPECT_TRUE(is_down({119, 9, 1093}, f32, 32, Major::column));
  // Where it lies along k, and there is enough to do, they are copied for dots.
  EXPECT_TRUE(is_down({119, 9, 1093}, f32, 32, Major::row));
  EXPECT_FALSE(is_down({119, 9, 159}, f32, 32, Major::row));
  EXPECT_FALSE(is_down({119, 16, 1093}, f32, 32, Major::row));
  EXPECT_TRUE(is_down({119, 12, 260}, bf16, 32, Major::row));
  EXPECT_FALSE(is_down({119, 9, 255}, bf16, 32, Major::row));
  EXPECT_FALSE(is_down({119, 13, 1093}, bf16, 32, Major::row));
  EXPECT_FALSE(is_down({30, 12, 260}, bf16, 32, Major::row));
  EXPECT_TRUE(is_down({119, 10, 700}, i8, 32, Major::row));
  EXPECT_FALSE(is_down({119, 10, 699}, i8, 32, Major::row));
  EXPECT_FALSE(is_down({119, 11, 1093}, i8, 32, Major::row));
  // Of few of them vectors need not be fuller, beside a long k.
  EXPECT_TRUE(is_down({119, 14, 1093}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({119, 14, 143}, f32, 32, Major::column));
  EXPECT_TRUE(is_down({119, 14, 144}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({35, 14, 144}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({240, 20, 255}, f64, 16, Major::column));
  EXPECT_TRUE(is_down({240, 20, 256}, f64, 16, Major::column));
  EXPECT_FALSE(is_down({240, 30, 500}, f32, 32, Major::column));
  EXPECT_TRUE(is_down({521, 37, 1055}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({521, 49, 1055}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({119, 9, 127}, f32, 32, Major::column));
  EXPECT_FALSE(is_down({119, 9, 1093}, bf16, 32, Major::column));
  EXPECT_TRUE(is_down({200, 5, 500}, f32, 16, Major::column));
  EXPECT_TRUE(is_down({200, 10, 500}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({200, 14, 500}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({25, 24, 30000}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({7, 5, 32}, i8, 16, Major::column));
  EXPECT_TRUE(is_down({8, 5, 32}, i8, 16, Major::column));
  EXPECT_FALSE(is_down({63, 8, 255}, i8, 16, Major::column));
  EXPECT_TRUE(is_down({64, 8, 32}, i8, 16, Major::column));
  EXPECT_FALSE(is_down({187, 10, 79}, bf16, 16, Major::column));
  EXPECT_TRUE(is_down({188, 10, 80}, bf16, 16, Major::column));
}

// A few rows and columns are dot products, where the columns are soon copied.
TEST(Orientation, OfAFewDependsOnTheDepth) {
  const auto is_down = [](const GemmShape& shape, ElementType type, int nr) {
    return is_turned(dense_problem(shape, gemm_types_for(type)), shape, {.mr = 12, .nr = nr},
                     kMachine);
  };
  using enum ElementType;
  for (const std::int64_t rows : {1, 2}) {
    EXPECT_FALSE(is_down({rows, 2, 63}, f32, 32));
    EXPECT_TRUE(is_down({rows, 2, 64}, f32, 32));
    EXPECT_FALSE(is_down({rows, 2, 127}, f64, 16));
    EXPECT_TRUE(is_down({rows, 2, 128}, f64, 16));
  }
  EXPECT_FALSE(is_down({2, 3, 5000}, f32, 32));
  EXPECT_FALSE(is_down({2, 3, 5000}, f64, 16));
  EXPECT_FALSE(is_down({2, 8, 63}, bf16, 32));
  EXPECT_TRUE(is_down({2, 8, 64}, bf16, 32));
  EXPECT_FALSE(is_down({2, 9, 640}, bf16, 32));
  EXPECT_FALSE(is_down({1, 8, 640}, bf16, 32));
  EXPECT_FALSE(is_down({2, 8, 511}, i8, 32));
  EXPECT_TRUE(is_down({2, 8, 512}, i8, 32));
  // AVX2's.
  EXPECT_FALSE(is_down({1, 4, 63}, f32, 16));
  EXPECT_TRUE(is_down({1, 4, 64}, f32, 16));
  EXPECT_FALSE(is_down({3, 4, 255}, f32, 16));
  EXPECT_TRUE(is_down({3, 4, 256}, f32, 16));
  EXPECT_FALSE(is_down({1, 5, 256}, f32, 16));
  for (const ElementType type : {bf16, i8}) {
    EXPECT_FALSE(is_down({1, 6, 15}, type, 16));
    EXPECT_TRUE(is_down({1, 6, 16}, type, 16));
    EXPECT_TRUE(is_down({6, 6, 16}, type, 16));
    EXPECT_FALSE(is_down({6, 7, 160}, type, 16));
  }
}

// Of a column-major C the same from the other side.
TEST(Orientation, OfRowsAndColumnsAlongKMakesDotsOfMoreColumns) {
  const auto is_down = [](const GemmShape& shape, ElementType type, const TileConfig& tile) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.b.major = Major::column;
    return is_turned(problem, shape, tile, kMachine);
  };
  using enum ElementType;
  EXPECT_TRUE(is_down({44, 12, 751}, f32, {.mr = 12, .nr = 32}));
  EXPECT_TRUE(is_down({40, 9, 78}, f32, {.mr = 12, .nr = 32}));
  EXPECT_FALSE(is_down({40, 9, 77}, f32, {.mr = 12, .nr = 32}));
  EXPECT_FALSE(is_down({40, 9, 78}, bf16, {.mr = 12, .nr = 32}));
  EXPECT_TRUE(is_down({40, 9, 156}, bf16, {.mr = 12, .nr = 32}));
  EXPECT_FALSE(is_down({40, 5, 37}, f64, {.mr = 12, .nr = 16}));
  EXPECT_TRUE(is_down({40, 5, 38}, f64, {.mr = 12, .nr = 16}));
  EXPECT_FALSE(is_down({40, 15, 751}, f32, {.mr = 12, .nr = 32}));
  EXPECT_FALSE(is_down({16, 12, 751}, f32, {.mr = 12, .nr = 32}));
  EXPECT_FALSE(is_down({44, 12, 751}, bf16, {.mr = 32, .nr = 32}));
}

// AVX2's, whether columns lie along k or are copied.
TEST(Orientation, OfNarrowRegistersMakesDotsWhereColumnsLeaveLanesEmpty) {
  const auto is_down = [](const GemmShape& shape, ElementType type, int nr, Major b) {
    Problem problem = dense_problem(shape, gemm_types_for(type));
    problem.b.major = b;
    return is_turned(problem, shape, {.mr = 6, .nr = nr}, kMachine);
  };
  using enum ElementType;
  for (const Major b : {Major::row, Major::column}) {
    EXPECT_TRUE(is_down({200, 6, 66}, f32, 16, b));
    EXPECT_FALSE(is_down({200, 6, 65}, f32, 16, b));
    EXPECT_TRUE(is_down({200, 8, 160}, f32, 16, b));
    EXPECT_FALSE(is_down({200, 8, 159}, f32, 16, b));
    EXPECT_TRUE(is_down({200, 12, 144}, f32, 16, b));
    EXPECT_FALSE(is_down({200, 12, 143}, f32, 16, b));
    EXPECT_FALSE(is_down({200, 16, 9000}, f32, 16, b));
    EXPECT_FALSE(is_down({200, 17, 9000}, f32, 16, b));
    EXPECT_TRUE(is_down({200, 3, 33}, f64, 8, b));
    EXPECT_FALSE(is_down({200, 3, 32}, f64, 8, b));
    EXPECT_TRUE(is_down({200, 12, 91}, bf16, 16, b));
    EXPECT_FALSE(is_down({200, 12, 89}, bf16, 16, b));
    EXPECT_FALSE(is_down({200, 15, 9000}, bf16, 16, b));
    EXPECT_TRUE(is_down({200, 16, 96}, i8, 16, b));
    EXPECT_FALSE(is_down({200, 16, 95}, i8, 16, b));
  }
  EXPECT_TRUE(is_down({40, 12, 144}, f32, 16, Major::column));
  EXPECT_FALSE(is_down({40, 12, 144}, f32, 16, Major::row));
}

TEST(Orientation, OfTileRegistersTakesWhatLiesAcrossAsB) {
  Problem problem = dense_problem({241, 5, 103}, gemm_types_for(ElementType::i8));
  problem.a.major = Major::column;
  EXPECT_TRUE(is_turned(problem, {241, 5, 103}, {.mr = 32, .nr = 32}, kMachine));
  EXPECT_FALSE(is_turned(problem, {241, 5, 103}, {.mr = 12, .nr = 32}, kMachine));
}

TEST(Orientation, OfFewRowsOfColumnsIsTheSame) {
  for (const std::int64_t k : kDepths) {
    const GemmShape rows{200, 3, k};
    const GemmShape columns{3, 200, k};
    const Problem by_rows = dense_problem(rows);
    Problem by_columns = dense_problem(columns);
    for (OperandLayout* layout : {&by_columns.a, &by_columns.b, &by_columns.c}) {
      layout->major = Major::column;
    }
    EXPECT_NE(is_turned(by_rows, rows, {.mr = 12, .nr = 32}, kMachine),
              is_turned(by_columns, columns, {.mr = 12, .nr = 32}, kMachine))
        << k;
  }
}

}  // namespace
}  // namespace tessera
