// The verification accepts correct products and finds a single wrong element, by both of its
// methods.
#include "cli/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/matrix.hpp"
#include "cli/random.hpp"
#include "core/reference.hpp"

namespace tessera::cli {
namespace {

struct Product {
  Product(const GemmTypes& types, const GemmShape& shape, const VerifyOptions& how)
      : a(shape.m, shape.k, types.a),
        b(shape.k, shape.n, types.b),
        c(shape.m, shape.n, types.c),
        before(shape.m, shape.n, types.c),
        bias(1, how.epilogue.bias == BiasAxis::row ? shape.m : shape.n, types.c),
        options(how) {
    fill_random(a, 1);
    fill_random(b, 2);
    fill_random(before, 3);
    fill_random(bias, 4);
    std::copy(before.bytes().begin(), before.bytes().end(), c.bytes().begin());
    reference_gemm(options.alpha, operands(), options.beta, options.epilogue);
  }

  Operands operands() {
    return {a.view(), b.view(), c.view(), {bias.bytes().data(), bias.cols(), 1, bias.type()}};
  }

  Verification by_element() {
    VerifyOptions all = options;
    all.max_reference_work = std::numeric_limits<double>::infinity();
    return verify(operands(), before.view(), all);
  }
  Verification by_freivalds() {
    VerifyOptions none = options;
    none.max_reference_work = 0;
    return verify(operands(), before.view(), none);
  }

  Matrix a, b, c, before, bias;
  VerifyOptions options;
};

const GemmTypes kAllTypes[] = {
    {ElementType::f64, ElementType::f64, ElementType::f64},
    {ElementType::f32, ElementType::f32, ElementType::f32},
    {ElementType::f16, ElementType::f16, ElementType::f16},
    {ElementType::bf16, ElementType::bf16, ElementType::f32},
    {ElementType::bf16, ElementType::bf16, ElementType::bf16},
    {ElementType::i8, ElementType::i8, ElementType::i32},
    {ElementType::u8, ElementType::i8, ElementType::i32},
};

TEST(Verify, AcceptsTheReferenceOfEveryType) {
  for (const GemmTypes& types : kAllTypes) {
    VerifyOptions options;
    options.alpha = types.c == ElementType::i32 ? 2 : 0.75;
    options.beta = types.c == ElementType::i32 ? -3 : -0.5;
    Product product(types, {37, 41, 53}, options);
    const Verification elements = product.by_element();
    EXPECT_TRUE(elements.passed) << name_of(types.a) << " " << elements.failure;
    const Verification freivalds = product.by_freivalds();
    EXPECT_TRUE(freivalds.passed) << name_of(types.a) << " " << freivalds.failure;
    EXPECT_NE(freivalds.method.find("Freivalds"), std::string::npos);
  }
}

TEST(Verify, FindsOneWrongElement) {
  Product product({}, {97, 89, 61}, {});
  auto* const c = reinterpret_cast<float*>(product.c.bytes().data());
  c[50 * 89 + 40] += 0.25f;
  EXPECT_FALSE(product.by_element().passed);
  const Verification freivalds = product.by_freivalds();
  EXPECT_FALSE(freivalds.passed);
  EXPECT_NE(freivalds.failure.find("row 50"), std::string::npos) << freivalds.failure;
}

TEST(Verify, FindsAnIntegerThatIsOffByOne) {
  Product product({ElementType::i8, ElementType::i8, ElementType::i32}, {64, 64, 64}, {});
  ++reinterpret_cast<std::int32_t*>(product.c.bytes().data())[11 * 64 + 13];
  EXPECT_FALSE(product.by_element().passed);
  EXPECT_FALSE(product.by_freivalds().passed);
}

TEST(Verify, AcceptsABiasAndFindsOneWrongValueOfIt) {
  for (const GemmTypes& types : kAllTypes) {
    for (const BiasAxis axis : {BiasAxis::row, BiasAxis::column}) {
      VerifyOptions options;
      options.epilogue.bias = axis;
      Product product(types, {37, 41, 53}, options);
      EXPECT_TRUE(product.by_element().passed) << name_of(types.a) << product.by_element().failure;
      EXPECT_TRUE(product.by_freivalds().passed)
          << name_of(types.a) << product.by_freivalds().failure;
      Matrix other(1, product.bias.cols(), types.c);
      fill_random(other, 5);
      product.bias = std::move(other);
      EXPECT_FALSE(product.by_element().passed) << name_of(types.a);
      EXPECT_FALSE(product.by_freivalds().passed) << name_of(types.a);
    }
  }
}

TEST(Verify, FindsPoison) {
  Product product({}, {40, 40, 40}, {});
  reinterpret_cast<float*>(product.c.bytes().data())[7] = std::nanf("");
  EXPECT_FALSE(product.by_element().passed);
  EXPECT_FALSE(product.by_freivalds().passed);
}

TEST(Verify, AcceptsNanThatTheOperandsBrought) {
  Product product({}, {40, 40, 40}, {});
  reinterpret_cast<float*>(product.a.bytes().data())[3 * 40] = std::nanf("");
  reference_gemm(1, product.operands(), 0, {});
  EXPECT_TRUE(product.by_element().passed);
  EXPECT_TRUE(product.by_freivalds().passed) << product.by_freivalds().failure;
}

TEST(Verify, AcceptsInfinityWhereAResultIsTooLarge) {
  for (const GemmTypes& types : kAllTypes) {
    if (types.c == ElementType::i32) continue;
    VerifyOptions options;
    // Most elements overflow; those that do not are still told apart.
    options.alpha = largest_finite(types.c);
    Product product(types, {37, 41, 53}, options);
    EXPECT_TRUE(product.by_element().passed) << name_of(types.c) << product.by_element().failure;
    EXPECT_TRUE(product.by_freivalds().passed)
        << name_of(types.c) << product.by_freivalds().failure;
  }
  Product product({}, {40, 40, 40}, {});
  reinterpret_cast<float*>(product.c.bytes().data())[7] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(product.by_element().passed);
  EXPECT_FALSE(product.by_freivalds().passed);
}

TEST(Verify, HandlesActivationsAndEmptyProducts) {
  VerifyOptions options;
  options.epilogue.activation = Activation::silu;
  Product activated({}, {33, 35, 37}, options);
  EXPECT_TRUE(activated.by_element().passed);
  EXPECT_TRUE(activated.by_freivalds().passed);
  Product empty({}, {0, 5, 5}, {});
  EXPECT_TRUE(empty.by_element().passed);
  Product no_depth({}, {5, 5, 0}, {});
  EXPECT_TRUE(no_depth.by_element().passed);
  EXPECT_TRUE(no_depth.by_freivalds().passed);
}

}  // namespace
}  // namespace tessera::cli
