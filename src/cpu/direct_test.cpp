// The short way against the general way, bit for bit, and which products it leaves to that.
#include "cpu/direct.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "core/catalogue.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/product.hpp"
#include "cpu/run.hpp"
#include "support/check_product.hpp"
#include "support/kernel_runs.hpp"

namespace tessera {
namespace {

using test::Fill;
using test::kMostPeers;
using test::Placement;
using test::Product;

// f32 and f64 by vectors: in parts and by residues they are split_f32_test.cpp's and
// residues_of_f64_test.cpp's.
const KernelEntry& kernel_for(ElementType type) {
  for (const KernelEntry& kernel : cpu_kernels()) {
    if (looks_at_elements(kernel)) continue;
    if (kernel.a == type && architecture_runs(cpu::host_architecture(), kernel.architecture)) {
      return kernel;
    }
  }
  throw std::logic_error("no kernel");
}

// Both operands in place, and one pass over k of up to 200.
Plan plan_for(ElementType type, std::vector<GemmShape> shapes, double alpha, double beta) {
  const KernelEntry& kernel = kernel_for(type);
  Plan plan;
  plan.problem = dense_problem({}, gemm_types_for(type));
  plan.problem.types.c = accumulator_of(plan.problem.types);
  plan.problem.groups = std::move(shapes);
  plan.problem.alpha = alpha;
  plan.problem.beta = beta;
  plan.machine = host_machine();
  plan.kernel = kernel.name;
  plan.tile = kernel.tile;
  plan.tile.block_m = plan.tile.block_n = 96;
  plan.tile.block_k = 200;
  plan.tile.a_in_place = plan.tile.b_in_place = true;
  plan.schedule.workers = 4;
  return plan;
}

struct Group {
  explicit Group(const Plan& plan) {
    std::uint64_t seed = 1;
    for (const GemmShape& shape : plan.problem.groups) {
      // Every other one column-major throughout, which is computed turned round.
      const Placement place{.column_major = seed % 4 < 2,
                            .padding = static_cast<std::int64_t>(seed % 3)};
      products.emplace_back(plan.problem.types, shape, plan.problem.beta, Fill::normal, seed++,
                            place, place, place);
    }
    for (Product& product : products) operands.push_back(product.operands());
  }

  std::deque<Product> products;
  std::vector<Operands> operands;
};

// The columns of one product, dealt to threads, in place and packed, and turned round.
TEST(Direct, ColumnsOfOneProductOnAnyNumberOfThreads) {
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::i8}) {
    for (const bool in_place : {true, false}) {
      Plan plan = plan_for(type, {{128, 128, 115}}, 2, 1);
      plan.tile.a_in_place = plan.tile.b_in_place = in_place;
      for (const bool column_major : {false, true}) {
        const Placement place{.column_major = column_major, .padding = 3};
        const auto make = [&] {
          return Product(plan.problem.types, plan.problem.groups.front(), 1, Fill::normal, 9, place,
                         place, place);
        };
        Product expected = make();
        const Operands alone = expected.operands();
        cpu::run_plan(plan, {&alone, 1}, {.threads = 1});
        for (const int threads : {2, 3, 7}) {
          Product product = make();
          const Operands operands = product.operands();
          cpu::run_plan(plan, {&operands, 1}, {.threads = threads});
          ASSERT_EQ(product.c.bytes(), expected.c.bytes()) << threads;
          ASSERT_EQ(check_product(product, 2, 1, {}, kMostPeers), "");
        }
      }
    }
  }
}

TEST(Direct, GroupsOfMixedSmallProductsOnAnyNumberOfThreads) {
  std::vector<GemmShape> shapes;
  for (std::int64_t i = 0; i < 300; ++i) {
    // Some without rows; none narrow, for those may be turned against their layout.
    const std::int64_t rows = i * 7 % 37;
    shapes.push_back({rows < 9 ? 0 : rows, 9 + i * 5 % 41, 1 + i * 11 % 53});
  }
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    for (const int threads : {1, 2, 3, 7}) {
      const Plan plan = plan_for(type, shapes, 0.5, threads % 2);
      Group group(plan);
      ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), group.operands, threads));
      for (Product& product : group.products) {
        ASSERT_EQ(check_product(product, 0.5, threads % 2, {}, kMostPeers), "");
      }
    }
  }
}

TEST(Direct, BitsAreThoseOfTheGeneralWay) {
  std::vector<GemmShape> shapes;
  for (const std::int64_t side : {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 70}) {
    for (int copy = 0; copy < 4; ++copy) shapes.push_back({side, side, side});
  }
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16,
                                 ElementType::f16, ElementType::i8, ElementType::u8}) {
    const bool integer = size_of(type) == 1;
    for (const double alpha : {1.0, integer ? -3.0 : -0.75}) {
      const Plan plan = plan_for(type, shapes, alpha, integer ? 2 : 0.5);
      Group direct(plan);
      Group general(plan);
      ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), direct.operands, 2));
      // A workspace of the caller's means the general way.
      Plan packed = plan;
      packed.tile.a_in_place = packed.tile.b_in_place = false;
      std::byte workspace[64];
      cpu::run_plan(packed, general.operands,
                    {.threads = 2, .workspace = workspace, .workspace_size = sizeof(workspace)});
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        ASSERT_EQ(direct.products[i].c.bytes(), general.products[i].c.bytes())
            << "side " << shapes[i].m << ", copy " << i % 4;
      }
    }
  }
}

// Parts of the columns or of the rows, the last one smaller; neither where parts are too unequal.
TEST(Direct, DealsColumnsOrRowsOfOneProduct) {
  struct Case {
    GemmShape shape;
    bool is_dealt;
  };
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16}) {
    const Plan like = plan_for(type, {}, 1, 0);
    const std::int64_t mr = like.tile.mr;
    const std::int64_t nr = like.tile.nr;
    for (const Case& one : {Case{{20, 16 * nr - 5, 9}, true},
                            {{20 * mr - 3, nr + nr / 2, 12}, true},
                            {{mr + 1, nr + 1, 30}, false}}) {
      for (const bool a_is_across : {false, true}) {
        for (const int workers : {2, 4}) {
          Plan plan = plan_for(type, {one.shape}, 1.5, 0.5);
          plan.schedule.workers = workers;
          const Placement place_a{.column_major = a_is_across, .padding = 2};
          Product whole(plan.problem.types, one.shape, 0.5, Fill::normal, 31, place_a);
          Product dealt(plan.problem.types, one.shape, 0.5, Fill::normal, 31, place_a);
          const Operands all = whole.operands();
          const Operands parts = dealt.operands();
          ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), {&all, 1}, 1));
          ASSERT_EQ(check_product(whole, 1.5, 0.5, {}, kMostPeers), "");
          ASSERT_EQ(cpu::run_directly(plan, cpu::code_of(plan), {&parts, 1}, 2), one.is_dealt)
              << name_of(type) << one.shape.m << "×" << one.shape.n << ", " << workers;
          if (!one.is_dealt) continue;
          ASSERT_EQ(dealt.c.bytes(), whole.c.bytes());
        }
      }
    }
  }
}

// A large C with a short k is written by whole rows, which threads share out where L2 is small
// (core/passing_rule.hpp); else by columns, too.
TEST(Direct, ThreadsKeepWrittenRowsWhole) {
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    Plan plan = plan_for(type, {}, 1.5, 0.5);
    const cpu::KernelCode& code = cpu::code_of(plan);
    if (code.wide_rows == 0 || is_narrow_tile(code.mr)) GTEST_SKIP() << "has no wide registers";
    plan.schedule.workers = 2;
    const std::int64_t cols = (std::int64_t{10} << 10) / size_of(type);
    const auto form_with = [&](std::int64_t rows, int block_m, std::int64_t block_n, int l2) {
      const GemmShape shape{rows, cols, 2};
      plan.problem.groups = {shape};
      plan.tile.block_m = block_m;
      plan.tile.block_n = static_cast<int>(block_n);
      plan.machine.scratchpad_bytes = l2;
      Product product(plan.problem.types, shape, 0.5, Fill::normal, 43);
      const Operands operands = product.operands();
      const auto form = cpu::direct_form(plan, code, operands);
      if (!form) throw std::logic_error("not the short way");
      const bool shares_out = cpu::run_directly(plan, code, {&operands, 1}, 2);
      if (shares_out) {
        EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
      }
      const bool is_wide = form->task.rows_ahead > 0 && form->task.sums_are_far;
      return std::tuple(is_wide, form->keeps_rows_whole, shares_out);
    };
    constexpr int kSmall = 1 << 20;
    constexpr int kLarge = 2 << 20;
    EXPECT_EQ(form_with(240, 120, cols, kSmall), std::tuple(true, true, true));
    EXPECT_EQ(form_with(240, 120, cols, kLarge), std::tuple(true, false, true));
    EXPECT_EQ(form_with(240, 240, cols / 2, kSmall), std::tuple(false, false, true));
    EXPECT_EQ(form_with(240, 240, cols / 2, kLarge), std::tuple(true, false, true));
    // Strips of twelve would leave one thread 60 rows and the other 40.
    EXPECT_EQ(form_with(100, 60, cols, kSmall), std::tuple(true, true, false));
  }
}

// A few rows and columns, which lie across k, are dot products as well, also where one of A's rows
// becomes a single column.
TEST(Direct, AFewRowsAndColumnsAsDots) {
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i8}) {
    const KernelEntry& kernel = kernel_for(type);
    if (!kernel.multiplies_dots) continue;
    for (const auto& [m, n] : {std::pair(1, 2), {1, 4}, {1, 6}, {2, 2}, {2, 3}, {3, 4}, {3, 6}}) {
      for (const std::int64_t k : {63, 130, 515, 9000}) {
        const GemmShape shape{m, n, k};
        const Plan plan = plan_for(type, {shape}, 2, 1);
        const cpu::KernelCode& code = cpu::code_of(plan);
        Product product(plan.problem.types, shape, 1, Fill::normal, 51, {.padding = 1},
                        {.padding = n % 2}, {.padding = 2});
        const Operands operands = product.operands();
        const auto faced = cpu::product_of(operands, plan, code);
        const bool are_few =
            !has_tile_registers(RegisterTile{code.mr, code.nr}) &&
            makes_dots_of_few({m, n, k, size_of(type), true, false}, {code.mr, code.nr});
        EXPECT_EQ(faced.is_dots, are_few) << code.name << ' ' << m << 'x' << n << 'x' << k;
        cpu::run_plan(plan, {&operands, 1}, {.threads = 1});
        EXPECT_EQ(check_product(product, 2, 1, {}, kMostPeers), "");
      }
    }
  }
}

// Two threads take rows where a cut between columns would run through a line of each row of C.
TEST(Direct, ThreadsShareNoLinesOfC) {
  const Plan plan = [] {
    Plan made = plan_for(ElementType::f32, {}, 1, 0);
    made.schedule.workers = 2;
    return made;
  }();
  const auto share_with = [&](std::int64_t rows, std::int64_t cols, std::int64_t padding) {
    Plan planned = plan;
    const GemmShape shape{rows, cols, 20};
    planned.problem.groups = {shape};
    Product product(planned.problem.types, shape, 1, Fill::normal, 47, {}, {},
                    {.padding = padding});
    return test::dealt_parts(planned, product, 2);
  };
  EXPECT_EQ(share_with(240, 128, 0), std::pair(std::int64_t{64}, true));  // rows are whole lines
  EXPECT_EQ(share_with(240, 128, 1), std::pair(std::int64_t{120}, false));
  EXPECT_EQ(share_with(24, 128, 1), std::pair(std::int64_t{64}, true));  // many columns
  EXPECT_EQ(share_with(25, 64, 1), std::pair(std::int64_t{32}, true));   // uneven rows
}

// With a few steps of k, C's lines are fetched where they leave the nearest cache and several
// register tiles make a row, and threads take whole rows then; by processors that were measured.
TEST(Direct, FetchesRowsOfCWithAFewStepsOfK) {
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    Plan plan = plan_for(type, {}, 1.5, 0.5);
    const cpu::KernelCode& code = cpu::code_of(plan);
    if (is_narrow_tile(code.mr)) GTEST_SKIP() << "has no wide registers";
    plan.machine.l1_bytes = 48 << 10;
    plan.machine.scratchpad_bytes = 2 << 20;
    plan.schedule.workers = 2;
    // Whether sums are fetched, and by wide tiles.
    const auto fetches = [&](const GemmShape& shape) {
      plan.problem.groups = {shape};
      plan.tile.block_m = static_cast<int>(shape.m);
      plan.tile.block_n = static_cast<int>(shape.n);
      Product product(plan.problem.types, shape, 0.5, Fill::normal, 53);
      const Operands operands = product.operands();
      const auto form = cpu::direct_form(plan, code, operands);
      if (!form) throw std::logic_error("not the short way");
      EXPECT_TRUE(cpu::run_directly(plan, code, {&operands, 1}, 2));
      EXPECT_EQ(check_product(product, 1.5, 0.5, {}, kMostPeers), "");
      const bool is_wide = form->task.rows_ahead > 0;
      EXPECT_EQ(form->task.sums_are_far, form->task.fetches_sums || is_wide);
      EXPECT_TRUE(!form->task.fetches_sums || !cpu::share_of(*form, 2).of_columns);
      return std::pair(form->task.fetches_sums, is_wide);
    };
    const bool may = cpu::has_two_units();
    const std::int64_t line = 64 / size_of(type);
    EXPECT_EQ(fetches({96, 16 * line, 4}), std::pair(may, false));
    EXPECT_EQ(fetches({96, 16 * line, 5}), std::pair(false, false));
    EXPECT_EQ(fetches({48, 15 * line, 4}), std::pair(false, false));  // a C that is near
    EXPECT_EQ(fetches({480, 4 * line, 4}), std::pair(false, false));  // few tiles in a row
    EXPECT_EQ(fetches({480, 5 * line, 4}), std::pair(may, false));
    EXPECT_EQ(fetches({128, 160 * line, 4}), std::pair(may, true));
    EXPECT_EQ(fetches({88, 193 * line, 4}), std::pair(false, true));  // long rows
    // Not in parts of rows that another thread writes on, where rows cannot be dealt.
    plan.problem.groups = {{49, 16 * line, 4}};
    Product uneven(plan.problem.types, plan.problem.groups.front(), 0.5, Fill::normal, 57);
    const Operands operands = uneven.operands();
    const auto form = cpu::direct_form(plan, code, operands);
    ASSERT_TRUE(form.has_value());
    EXPECT_TRUE(cpu::share_of(*form, 2).of_columns);
    const auto multiply = [](const cpu::BlockTask& task) { ASSERT_FALSE(task.fetches_sums); };
    cpu::DirectForm part = *form;
    part.multiply = multiply;
    EXPECT_EQ(part.task.fetches_sums, may && 49 * 16 * 64 >= plan.machine.l1_bytes);
    EXPECT_TRUE(cpu::multiply_part(part, operands, true, 0, 8 * line));
  }
}

TEST(Direct, PacksAColumnMajorB) {
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    for (const int threads : {1, 3}) {
      Plan plan = plan_for(type, {}, 0.5, 1);
      plan.tile.b_in_place = false;
      std::deque<Product> products;
      std::vector<Operands> operands;
      std::uint64_t seed = 1;
      for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 41, 65, 80}) {
        const GemmShape shape{n, n, n + 1};  // square, so that none is turned
        plan.problem.groups.push_back(shape);
        products.emplace_back(plan.problem.types, shape, 1, Fill::normal, seed++, Placement{},
                              Placement{.column_major = true, .padding = n % 3});
        operands.push_back(products.back().operands());
      }
      ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), operands, threads));
      for (Product& product : products) {
        ASSERT_EQ(check_product(product, 0.5, 1, {}, kMostPeers), "");
      }
    }
  }
}

// A few columns beside rows of A along k are dot products, for which B is copied along k; with the
// bits of the general way, on any number of threads.
TEST(Direct, NarrowProductsAsDots) {
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::i8, ElementType::u8}) {
    if (!kernel_for(type).multiplies_dots) continue;
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 11, 12}) {
      for (const std::int64_t k : {1, 16, 47, 70, 100, 170}) {
        const GemmShape shape{128, n, k};
        const Plan plan = plan_for(type, {shape}, 2, 1);
        const auto make = [&] {
          return Product(plan.problem.types, shape, 1, Fill::normal, 9, {.padding = 1},
                         {.padding = n % 2}, {.padding = 2});
        };
        Product general = make();
        const Operands one = general.operands();
        std::byte workspace[64];
        cpu::run_plan(plan, {&one, 1},
                      {.threads = 1, .workspace = workspace, .workspace_size = sizeof(workspace)});
        ASSERT_EQ(check_product(general, 2, 1, {}, kMostPeers), "");
        for (const int threads : {1, 2, 4}) {
          Product product = make();
          const Operands operands = product.operands();
          // Of a short k vectors lie along the columns, too few to be dealt.
          const auto form = cpu::direct_form(plan, cpu::code_of(plan), operands);
          if (form && !form->turned && threads > 1) continue;
          ASSERT_TRUE(cpu::run_directly(plan, cpu::code_of(plan), {&operands, 1}, threads))
              << name_of(type) << n << ", " << k << ", " << threads;
          ASSERT_EQ(product.c.bytes(), general.c.bytes()) << n << ", " << k << ", " << threads;
        }
      }
    }
  }
}

// A C that lies across vectors, or is of another type than the sums, is written from a buffer.
TEST(Direct, SumsThatAreNotCollectedInC) {
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::bf16}) {
    for (const bool is_across : {true, false}) {
      if (!is_across && type != ElementType::bf16) continue;
      for (const GemmShape& shape : {GemmShape{60, 2, 200}, {51, 2, 180}, {40, 2, 150}}) {
        for (const double beta : {0.0, 0.5}) {
          Plan plan = plan_for(type, {shape}, 1.5, beta);
          if (!is_across) plan.problem.types.c = type;
          const auto make = [&] {
            return Product(plan.problem.types, shape, beta, Fill::normal, 21,
                           {.column_major = is_across, .padding = 1}, {}, {.padding = 2});
          };
          Product general = make();
          const Operands one = general.operands();
          std::byte workspace[64];
          cpu::run_plan(
              plan, {&one, 1},
              {.threads = 1, .workspace = workspace, .workspace_size = sizeof(workspace)});
          ASSERT_EQ(check_product(general, 1.5, beta, {}, kMostPeers), "");
          Product product = make();
          const Operands operands = product.operands();
          const auto form = cpu::direct_form(plan, cpu::code_of(plan), operands);
          ASSERT_TRUE(form.has_value()) << name_of(type);
          EXPECT_NE(form->finish, nullptr);
          // Tile registers read rows that lie along k where they lie.
          const bool keeps_rows = cpu::code_of(plan).rows_together > 0 && !is_across;
          EXPECT_EQ(form->turned, !keeps_rows);
          ASSERT_TRUE(cpu::multiply_directly(*form, operands));
          ASSERT_EQ(product.c.bytes(), general.c.bytes())
              << name_of(type) << shape.m << "×" << shape.n << "×" << shape.k << ", " << beta;
        }
      }
    }
  }
}

TEST(Direct, LeavesWhatItCannot) {
  const auto goes = [](Plan plan, Placement place_c = {}) {
    const GemmShape shape = plan.problem.groups.front();
    Product product(plan.problem.types, shape, 0, Fill::normal, 1, {}, {}, place_c);
    const Operands operands = product.operands(plan.problem.epilogue);
    return cpu::run_directly(plan, cpu::code_of(plan), {&operands, 1}, 1);
  };
  EXPECT_TRUE(goes(plan_for(ElementType::f32, {{40, 40, 40}}, 1, 0)));
  EXPECT_FALSE(goes(plan_for(ElementType::f32, {{40, 40, 0}}, 1, 0)));
  // Elsewhere it stays near (near_products_test.cpp).
  Plan with_more_k = plan_for(ElementType::f32, {{40, 40, 201}}, 1, 0);
  with_more_k.machine.scratchpad_bytes = 1 << 20;
  EXPECT_FALSE(goes(with_more_k));
  EXPECT_FALSE(goes(plan_for(ElementType::f32, {{400, 800, 200}}, 1, 0)));
  EXPECT_FALSE(goes(plan_for(ElementType::f32, {{40, 40, 40}}, 0, 0)));
  Plan with_wide_b = plan_for(ElementType::f32, {{9, 600, 200}}, 1, 0);
  EXPECT_TRUE(goes(with_wide_b));
  with_wide_b.tile.b_in_place = false;
  EXPECT_FALSE(goes(with_wide_b));
  // A large B whose rows do not keep apart streams by, and the sums go to memory on the way.
  Plan with_far_b = plan_for(ElementType::f32, {{1, 8192, 200}}, 1, 0);
  with_far_b.machine.cache_bytes = 1 << 20;
  with_far_b.machine.scratchpad_bytes = 1 << 20;
  EXPECT_FALSE(goes(with_far_b));
  Plan with_activation = plan_for(ElementType::f32, {{40, 40, 40}}, 1, 0);
  with_activation.problem.epilogue.activation = Activation::relu;
  EXPECT_FALSE(goes(with_activation));
}

}  // namespace
}  // namespace tessera
