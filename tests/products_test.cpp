// Whole products through the public API: every schedule, type, layout and edge size, judged element
// by element against the exact result. Tiles are small on purpose, so that small matrices have many
// tiles, partial tiles and shared tiles.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/check_product.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::Placement;
using test::Product;

constexpr TileConfig kTile{.block_m = 24, .block_n = 32, .block_k = 16};
constexpr std::int64_t kMostContributors = 64;

using enum ElementType;
const std::vector<GemmTypes> kTypes = {{f64, f64, f64}, {f32, f32, f32},    {f16, f16, f16},
                                       {f16, f16, f32}, {bf16, bf16, bf16}, {bf16, bf16, f32},
                                       {i8, i8, i32},   {u8, i8, i32}};

constexpr std::array kSchedules = {ScheduleKind::data_parallel, ScheduleKind::split_k,
                                   ScheduleKind::stream_k, ScheduleKind::hybrid};

std::string text_of(const GemmTypes& types) {
  return std::string(name_of(types.a)) + "_" + std::string(name_of(types.b)) + "_" +
         std::string(name_of(types.c));
}

struct Case {
  GemmTypes types;
  ScheduleKind schedule;
};

class Products : public testing::TestWithParam<Case> {
 protected:
  PlanOptions options(int workers) const {
    PlanOptions o;
    o.schedule = GetParam().schedule;
    o.workers = workers;
    o.tile = kTile;
    if (GetParam().schedule == ScheduleKind::split_k) o.splits = 3;
    return o;
  }

  // Plans and runs one product; empty or what is wrong with it.
  std::string run_product(Product& product, double alpha, double beta, const Epilogue& epilogue,
                          const PlanOptions& plan_options) {
    const Operands operands = product.operands(epilogue);
    const Plan plan =
        make_plan(describe({&operands, 1}, alpha, beta, epilogue), host_machine(), plan_options);
    run(plan, {&operands, 1}, {.threads = 2});
    return check_product(product, alpha, beta, epilogue, kMostContributors);
  }
};

TEST_P(Products, EverySizeAroundATile) {
  const std::vector<std::int64_t> ms = {0, 1, 23, 24, 25, 61};
  const std::vector<std::int64_t> ns = {0, 1, 31, 32, 33, 67};
  const std::vector<std::int64_t> ks = {0, 1, 15, 16, 17, 101};
  std::uint64_t seed = 1;
  for (const std::int64_t m : ms) {
    for (const std::int64_t n : ns) {
      for (const std::int64_t k : ks) {
        Product product(GetParam().types, {m, n, k}, 0, Fill::normal, seed++);
        const std::string fault = run_product(product, 1, 0, {}, options(5));
        ASSERT_EQ(fault, "") << m << "×" << n << "×" << k;
      }
    }
  }
}

TEST_P(Products, EveryLayoutAndBeta) {
  const bool integer = GetParam().types.c == i32;
  const std::vector<Placement> placements = {
      {}, {.padding = 3}, {.column_major = true, .padding = 5}, {.padding = 1, .step = 2}};
  std::uint64_t seed = 100;
  for (const Placement& a : placements) {
    for (const Placement& b : placements) {
      for (const Placement& c : placements) {
        for (const double beta : {0.0, 1.0, integer ? -2.0 : -0.5}) {
          Product product(GetParam().types, {37, 41, 53}, beta, Fill::normal, seed++, a, b, c);
          const std::string fault =
              run_product(product, integer ? 3.0 : 0.75, beta, {}, options(4));
          ASSERT_EQ(fault, "") << "beta " << beta << ", product " << seed;
        }
      }
    }
  }
}

TEST_P(Products, EveryEpilogue) {
  const bool integer = GetParam().types.c == i32;
  std::uint64_t seed = 500;
  for (const BiasAxis bias : {BiasAxis::none, BiasAxis::row, BiasAxis::column}) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu_tanh,
                                        Activation::gelu_erf, Activation::silu}) {
      if (integer && activation != Activation::none && activation != Activation::relu) continue;
      for (const bool column_major : {false, true}) {
        Product product(GetParam().types, {43, 39, 29}, 1, Fill::normal, seed++, {}, {},
                        {.column_major = column_major});
        const double alpha = integer ? 1 : 0.25;
        const std::string fault = run_product(product, alpha, 1, {bias, activation}, options(3));
        ASSERT_EQ(fault, "") << name_of(bias) << " " << name_of(activation);
      }
    }
  }
}

TEST_P(Products, WholeNumbersAreExactAndBitsRepeat) {
  // Sums stay below 3·3·101 + 3 = 912 in size: exact in f32, f64 and i32, and rounded once in 16
  // bits.
  for (const int workers : {1, 3, 7, 132}) {
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 3, 7}) {
      Product product(GetParam().types, {61, 67, 101}, 1, Fill::integers, 7);
      const Operands operands = product.operands();
      const Plan plan =
          make_plan(describe({&operands, 1}, 1, 1, {}), host_machine(), options(workers));
      run(plan, {&operands, 1}, {.threads = threads});
      for (std::int64_t row = 0;
           row < 61 && product.c.view().type != f16 && product.c.view().type != bf16; ++row) {
        for (std::int64_t col = 0; col < 67; ++col) {
          double sum = product.c_before.at(row, col);
          for (std::int64_t l = 0; l < 101; ++l) sum += product.a.at(row, l) * product.b.at(l, col);
          ASSERT_EQ(product.c.at(row, col), sum) << row << ", " << col;
        }
      }
      if (first.empty()) first = product.c.bytes();
      ASSERT_EQ(product.c.bytes(), first) << workers << " workers on " << threads << " threads";
    }
  }
}

TEST_P(Products, RandomNumbersGiveTheSameBitsOnAnyNumberOfThreads) {
  std::vector<std::byte> first;
  for (const int threads : {1, 2, 3, 7, 64}) {
    Product product(GetParam().types, {61, 67, 331}, 0, Fill::normal, 11);
    const Operands operands = product.operands();
    const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options(29));
    run(plan, {&operands, 1}, {.threads = threads});
    ASSERT_EQ(check_product(product, 1, 0, {}, kMostContributors), "");
    if (first.empty()) first = product.c.bytes();
    ASSERT_EQ(product.c.bytes(), first) << threads << " threads";
  }
}

TEST_P(Products, GroupsOfAnySizes) {
  const std::vector<GemmShape> shapes = {{50, 70, 90}, {0, 5, 5},    {1, 1, 1}, {25, 0, 7},
                                         {7, 33, 0},   {3, 97, 200}, {0, 0, 0}, {64, 64, 64}};
  const bool integer = GetParam().types.c == i32;
  for (const double beta : {0.0, integer ? 2.0 : -0.5}) {
    std::vector<Product> products;
    products.reserve(shapes.size());
    std::vector<Operands> groups;
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      products.emplace_back(GetParam().types, shapes[g], beta, Fill::normal, g);
      groups.push_back(products.back().operands());
    }
    const Plan plan = make_plan(describe(groups, 1, beta, {}), host_machine(), options(6));
    run(plan, groups);
    for (std::size_t g = 0; g < shapes.size(); ++g) {
      ASSERT_EQ(check_product(products[g], 1, beta, {}, kMostContributors), "") << "group " << g;
    }
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const GemmTypes& types : kTypes) {
    for (const ScheduleKind schedule : kSchedules) cases.push_back({types, schedule});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(EveryTypeAndSchedule, Products, testing::ValuesIn(all_cases()),
                         [](const auto& instance) {
                           return text_of(instance.param.types) + "_" +
                                  std::string(name_of(instance.param.schedule));
                         });

}  // namespace
}  // namespace tessera
