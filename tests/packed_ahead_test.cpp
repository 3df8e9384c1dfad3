// Products with a B that was packed before, by the calls that users make.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/check_product.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using test::check_product;
using test::Fill;
using test::Product;

constexpr std::int64_t kMostPeers = 64;
const std::vector<ElementType> kTypes = {ElementType::f32, ElementType::f64, ElementType::f16,
                                         ElementType::bf16, ElementType::i8};

std::vector<Product> products_of(const std::vector<GemmShape>& shapes) {
  std::vector<Product> products;
  std::uint64_t seed = 3;
  for (const GemmShape& shape : shapes) {
    products.emplace_back(gemm_types_for(ElementType::f32), shape, 0, Fill::normal, seed++);
  }
  return products;
}

std::vector<Operands> operands_of(std::vector<Product>& products) {
  std::vector<Operands> operands;
  for (Product& product : products) operands.push_back(product.operands());
  return operands;
}

std::vector<PackedMatrix> pack_each(std::vector<Operands>& operands, std::int64_t rows) {
  std::vector<PackedMatrix> packed;
  packed.reserve(operands.size());
  for (Operands& product : operands) {
    product.packed_b = &packed.emplace_back(pack_b(product.b, rows));
  }
  return packed;
}

// Weights for some rows serve all.
TEST(PackedAhead, OnePackingServesAnyNumberOfRows) {
  for (const ElementType type : kTypes) {
    for (const GemmShape& weights : {GemmShape{4, 90, 300}, {100, 90, 300}, {16, 333, 1025}}) {
      std::optional<PackedMatrix> packed;
      for (const std::int64_t m : {1, 2, 7, 33, 130, 300}) {
        SCOPED_TRACE(std::string(name_of(type)) + " m = " + std::to_string(m));
        const bool is_across = m % 2 == 0;
        Product product(gemm_types_for(type), {m, weights.n, weights.k}, -0.5, Fill::integers, 7,
                        {.column_major = is_across, .padding = 3}, {},
                        {.column_major = m % 3 == 0, .padding = 1});
        // The same B each time, of memory that ends with the round.
        Product one_row(gemm_types_for(type), {1, weights.n, weights.k}, 0, Fill::integers, 9);
        Operands operands = product.operands();
        const ConstMatrixView b = one_row.operands().b;
        if (!packed) packed = pack_b(b, weights.m);
        operands.packed_b = &*packed;
        operands.b.data = nullptr;
        const double alpha = type == ElementType::i8 ? 2 : 0.5;
        const double beta = type == ElementType::i8 ? 3 : -0.5;
        gemm(alpha, operands, beta);

        Product expected(gemm_types_for(type), {m, weights.n, weights.k}, -0.5, Fill::integers, 7,
                         {.column_major = is_across, .padding = 3}, {},
                         {.column_major = m % 3 == 0, .padding = 1});
        Operands unpacked = expected.operands();
        unpacked.b = b;
        gemm(alpha, unpacked, beta);
        EXPECT_EQ(product.c.bytes(), expected.c.bytes());
      }
    }
  }
}

TEST(PackedAhead, ResultsAreWithinTheirBounds) {
  for (const ElementType type : kTypes) {
    for (const GemmShape& shape :
         {GemmShape{1, 2000, 700}, {16, 700, 2000}, {40, 1100, 900}, {131, 257, 513}}) {
      SCOPED_TRACE(std::string(name_of(type)) + " m = " + std::to_string(shape.m));
      for (const bool is_across : {false, true}) {
        Product product(gemm_types_for(type), shape, 0, Fill::normal, 11, {},
                        {.column_major = is_across});
        Operands operands = product.operands();
        const PackedMatrix packed = pack_b(operands.b, shape.m);
        operands.packed_b = &packed;
        gemm(1, operands, 0, {}, {.threads = 3});
        EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
      }
    }
  }
}

// Two packings of one matrix pose two problems: each has its own plan.
TEST(PackedAhead, EachPackingHasItsPlan) {
  Product product(gemm_types_for(ElementType::f32), {5, 200, 3000}, 0, Fill::normal, 3);
  Operands operands = product.operands();
  const Problem problem = describe({&operands, 1}, 1, 0, {});
  std::vector<PackedMatrix> packings;
  for (const int block_k : {128, 512}) {
    PlanOptions options;
    options.tile.emplace().block_k = block_k;
    packings.push_back(pack_b(make_plan(problem, host_machine(), options), operands.b));
  }
  ASSERT_NE(packings[0].block_k(), packings[1].block_k());
  for (int round = 0; round < 3; ++round) {
    for (const PackedMatrix& packed : packings) {
      operands.packed_b = &packed;
      gemm(1, operands, 0);
      EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
    }
  }
}

TEST(PackedAhead, GroupsHaveOneEach) {
  std::vector<Product> products =
      products_of({{3, 200, 300}, {40, 200, 300}, {0, 200, 300}, {1, 200, 300}});
  std::vector<Operands> operands = operands_of(products);
  const std::vector<PackedMatrix> packed = pack_each(operands, 8);
  grouped_gemm(1, operands, 0);
  for (Product& product : products) EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
}

// A product without elements of B has nothing to pack, and others may have gone unpacked.
TEST(PackedAhead, GroupsMayHaveUnpackedProducts) {
  std::vector<Product> products = products_of({{4, 50, 0}, {4, 50, 300}, {4, 50, 200}});
  std::vector<Operands> operands = operands_of(products);
  const PackedMatrix packed = pack_b(operands[1].b, 8);
  operands[1].packed_b = &packed;
  grouped_gemm(1, operands, 0);
  for (Product& product : products) EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
}

TEST(PackedAhead, GroupsWithUnequalPackingsAreRefused) {
  std::vector<Product> products = products_of({{4, 50, 2000}, {4, 50, 1700}});
  std::vector<Operands> operands = operands_of(products);
  const std::vector<PackedMatrix> packed = pack_each(operands, 8);
  ASSERT_NE(packed[0].block_k(), packed[1].block_k());
  EXPECT_THROW(grouped_gemm(1, operands, 0), Error);
}

// Once packed, B's memory may be used for something else.
TEST(PackedAhead, CMayLieWhereBWas) {
  constexpr std::int64_t kSize = 60;
  const std::vector<float> a(kSize * kSize, 2.0F);
  std::vector<float> b(kSize * kSize, 3.0F);
  Operands operands{row_major(a.data(), kSize, kSize), row_major(b.data(), kSize, kSize),
                    row_major(b.data(), kSize, kSize)};
  const PackedMatrix packed = pack_b(operands.b, kSize);
  EXPECT_THROW(gemm(1, operands, 0), Error);
  operands.packed_b = &packed;
  gemm(1, operands, 0);
  EXPECT_EQ(b.front(), 6.0F * kSize);
  b.assign(b.size(), 0.0F);
  grouped_gemm(1, {&operands, 1}, 0);
  EXPECT_EQ(b.back(), 6.0F * kSize);
}

TEST(PackedAhead, GoesWithEpiloguesAndSplitsOfK) {
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    const Epilogue epilogue{BiasAxis::column, Activation::relu};
    Product product(gemm_types_for(type), {20, 100, 3000}, 0, Fill::normal, 5);
    Operands operands = product.operands(epilogue);
    const PackedMatrix packed = pack_b(operands.b, 20);
    operands.packed_b = &packed;
    gemm(1, operands, 0, epilogue);
    EXPECT_EQ(check_product(product, 1, 0, epilogue, kMostPeers), "");
    PlanOptions options = options_for(packed);
    options.splits = 2;
    run(make_plan(describe({&operands, 1}, 1, 0, epilogue), host_machine(), options),
        {&operands, 1});
    EXPECT_EQ(check_product(product, 1, 0, epilogue, kMostPeers), "");
  }
}

// The message says what is wrong with the packed matrix, not with a plan for it.
TEST(PackedAhead, RefusesOneOfOtherSizesOrTypes) {
  const auto complaint = [](const GemmTypes& types, const PackedMatrix& packed) -> std::string {
    Product product(types, {5, 20, 30}, 0, Fill::normal, 3);
    Operands operands = product.operands();
    operands.packed_b = &packed;
    try {
      gemm(1, operands, 0);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto packed_for = [](const GemmTypes& types, const GemmShape& shape) {
    Product product(types, shape, 0, Fill::normal, 3);
    return pack_b(product.operands().b, 5);
  };
  const GemmTypes floats = gemm_types_for(ElementType::f32);
  const GemmTypes bytes = gemm_types_for(ElementType::i8);
  const GemmTypes mixed = gemm_types_for(ElementType::u8);
  EXPECT_EQ(complaint(floats, packed_for(floats, {5, 20, 30})), "");
  EXPECT_NE(complaint(floats, packed_for(floats, {5, 21, 30})).find("30×20"), std::string::npos);
  EXPECT_NE(complaint(floats, {}).find("packed_b"), std::string::npos);
  EXPECT_NE(complaint(floats, packed_for(gemm_types_for(ElementType::bf16), {5, 20, 30}))
                .find("for an A of f32"),
            std::string::npos);
  EXPECT_NE(complaint(mixed, packed_for(bytes, {5, 20, 30})).find("for an A of u8"),
            std::string::npos);
}

TEST(PackedAhead, U8IsPackedForItsPlan) {
  Product product(gemm_types_for(ElementType::u8), {9, 200, 300}, 0, Fill::normal, 3);
  Operands operands = product.operands();
  Problem problem = describe({&operands, 1}, 1, 0, {});
  problem.b = kPackedLayout;
  const PackedMatrix packed = pack_b(make_plan(problem, host_machine()), operands.b);
  operands.packed_b = &packed;
  gemm(1, operands, 0);
  EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
}

TEST(PackedAhead, DescribeSaysSo) {
  Product product(gemm_types_for(ElementType::f32), {5, 20, 30}, 0, Fill::normal, 3);
  Operands operands = product.operands();
  const PackedMatrix packed = pack_b(operands.b, 5);
  EXPECT_EQ(describe({&operands, 1}, 1, 0, {}).b.major, Major::row);
  operands.packed_b = &packed;
  EXPECT_EQ(describe({&operands, 1}, 1, 0, {}).b, kPackedLayout);
  const PlanOptions options = options_for(packed);
  EXPECT_EQ(options.kernel, packed.kernel());
  ASSERT_TRUE(options.tile);
  EXPECT_EQ(options.tile->block_k, packed.block_k());
  const Plan plan = make_plan(describe({&operands, 1}, 1, 0, {}), host_machine(), options);
  run(plan, {&operands, 1});
  EXPECT_EQ(check_product(product, 1, 0, {}, kMostPeers), "");
}

TEST(PackedAhead, OptionsKeepWhatIsChosen) {
  const std::vector<float> b(20, 1.0F);
  const PackedMatrix packed = pack_b(row_major(b.data(), 4, 5), 3);
  PlanOptions chosen;
  chosen.workers = 3;
  chosen.tile = TileConfig{.block_m = 12, .block_n = 64};
  const PlanOptions options = options_for(packed, chosen);
  EXPECT_EQ(options.workers, 3);
  EXPECT_EQ(options.kernel, packed.kernel());
  EXPECT_EQ(options.tile->block_m, 12);
  EXPECT_EQ(options.tile->block_n, 64);
  EXPECT_EQ(options.tile->block_k, packed.block_k());
  chosen.kernel = "another";
  chosen.tile->block_k = 7;
  EXPECT_EQ(options_for(packed, chosen).kernel, "another");
  EXPECT_EQ(options_for(packed, chosen).tile->block_k, 7);
}

TEST(PackedAhead, RefusesNoRows) {
  const std::vector<float> b(20, 1.0F);
  EXPECT_THROW(pack_b(row_major(b.data(), 4, 5), 0), Error);
  EXPECT_THROW(pack_b(ConstMatrixView{nullptr, 4, 5, 5, 1, ElementType::f32}, 1), Error);
  EXPECT_THROW(pack_b(row_major(b.data(), 0, 5), 1), Error);
}

}  // namespace
}  // namespace tessera
