// What callers can get wrong, and that the message names the argument and the value.
#include "core/validate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tessera/error.hpp"

namespace tessera {
namespace {

// Operands of a 4×6 by 6×5 product that are right; tests break one thing each.
struct Fixture {
  std::vector<float> a = std::vector<float>(200);
  std::vector<float> b = std::vector<float>(200);
  std::vector<float> c = std::vector<float>(200);
  std::vector<float> bias = std::vector<float>(8);
  Operands operands{row_major(a.data(), 4, 6),
                    row_major(b.data(), 6, 5),
                    row_major(c.data(), 4, 5),
                    {bias.data(), 5, 1, ElementType::f32}};
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;

  Problem check() const { return describe({&operands, 1}, alpha, beta, epilogue); }
};

struct Mistake {
  const char* name;
  std::function<void(Fixture&)> make;
  std::vector<std::string> message;
};

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreNamedWithArgumentAndValue) {
  Fixture fixture;
  GetParam().make(fixture);
  try {
    fixture.check();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    for (const std::string& part : GetParam().message) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is missing from: " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Describe, Mistakes,
    testing::Values(
        Mistake{"rows", [](Fixture& f) { f.operands.a.rows = 3; }, {"A:", "rows as C, 4", "3×6"}},
        Mistake{"depth", [](Fixture& f) { f.operands.b.rows = 7; }, {"B:", "6", "7×5"}},
        Mistake{"columns", [](Fixture& f) { f.operands.b.cols = 4; }, {"B:", "5", "6×4"}},
        Mistake{"short_stride",
                [](Fixture& f) { f.operands.a.row_stride = 5; },
                {"A:", "row stride of at least 6", "given 5"}},
        Mistake{"zero_stride",
                [](Fixture& f) { f.operands.c.col_stride = 0; },
                {"C:", "at least 1", "column stride 0"}},
        Mistake{"negative_stride",
                [](Fixture& f) { f.operands.b.row_stride = -5; },
                {"B:", "row stride -5"}},
        Mistake{"null", [](Fixture& f) { f.operands.b.data = nullptr; }, {"B:", "null pointer"}},
        Mistake{
            "null_output", [](Fixture& f) { f.operands.c.data = nullptr; }, {"C:", "null pointer"}},
        Mistake{"negative_size",
                [](Fixture& f) { f.operands.a.rows = f.operands.c.rows = -4; },
                {"A:", "-4×6"}},
        Mistake{"misaligned",
                [](Fixture& f) {
                  f.operands.a.data = reinterpret_cast<const char*>(f.operands.a.data) + 2;
                },
                {"A:", "aligned", "2 bytes past"}},
        Mistake{
            "huge_size",
            [](Fixture& f) { f.operands.a.rows = f.operands.c.rows = (std::int64_t{1} << 40) + 1; },
            {"A:", "0 to 1099511627776", "1099511627777×6"}},
        Mistake{"huge_stride",
                [](Fixture& f) {
                  f.operands.a.row_stride = std::numeric_limits<std::int64_t>::max() / 2;
                },
                {"A:", "2^59", "row stride 4611686018427387903"}},
        Mistake{"huge_bias_stride",
                [](Fixture& f) {
                  f.epilogue.bias = BiasAxis::column;
                  f.operands.bias.stride = std::numeric_limits<std::int64_t>::max();
                },
                {"bias:", "2^59"}},
        Mistake{"misaligned_bias",
                [](Fixture& f) {
                  f.epilogue.bias = BiasAxis::column;
                  f.operands.bias.data = reinterpret_cast<const char*>(f.bias.data()) + 2;
                },
                {"bias:", "aligned", "2 bytes past"}},
        Mistake{"types",
                [](Fixture& f) {
                  f.operands.b.type = ElementType::f64;
                  f.operands.b.data =
                      f.a.data() + 32 - (reinterpret_cast<std::uintptr_t>(f.a.data()) % 8) / 4;
                },
                {"types:", "f32·f64→f32"}},
        Mistake{"output_is_input",
                [](Fixture& f) { f.operands.c.data = f.a.data(); },
                {"C of group 0", "share no memory", "A of group 0"}},
        Mistake{"output_overlaps_tail",
                [](Fixture& f) { f.operands.c.data = f.b.data() + 29; },
                {"C of group 0", "B of group 0"}},
        Mistake{"bias_length",
                [](Fixture& f) { f.epilogue.bias = BiasAxis::row; },
                {"bias:", "one value per row of C, 4", "5 values"}},
        Mistake{"bias_type",
                [](Fixture& f) {
                  f.epilogue.bias = BiasAxis::column;
                  f.operands.bias.type = ElementType::f64;
                },
                {"bias:", "f32", "f64"}},
        Mistake{"bias_null",
                [](Fixture& f) {
                  f.epilogue.bias = BiasAxis::column;
                  f.operands.bias.data = nullptr;
                },
                {"bias:", "null pointer"}},
        Mistake{"bias_overlap",
                [](Fixture& f) {
                  f.epilogue.bias = BiasAxis::column;
                  f.operands.bias.data = f.c.data() + 3;
                },
                {"C of group 0", "bias of group 0"}}),
    [](const auto& mistake) { return mistake.param.name; });

TEST(Describe, ReadsLayouts) {
  Fixture fixture;
  EXPECT_EQ(fixture.check().a.major, Major::row);
  fixture.operands.a = column_major(fixture.a.data(), 4, 6, 8);
  fixture.operands.b.row_stride = 20;
  fixture.operands.b.col_stride = 2;
  const Problem problem = fixture.check();
  EXPECT_EQ(problem.a.major, Major::column);
  EXPECT_GE(problem.a.alignment, 4);
  EXPECT_EQ(problem.b.major, Major::general);
  EXPECT_EQ(problem.groups[0], (GemmShape{4, 5, 6}));
}

TEST(Describe, AcceptsInterleavedSubmatricesOfOneBuffer) {
  // [A | C] side by side in rows of 16, as LAPACK's blocked algorithms have them.
  std::vector<float> buffer(64);
  Fixture fixture;
  fixture.operands.a = row_major(buffer.data(), 4, 6, 16);
  fixture.operands.c = row_major(buffer.data() + 6, 4, 5, 16);
  EXPECT_NO_THROW(fixture.check());
  fixture.operands.c.data = buffer.data() + 5;
  EXPECT_THROW(fixture.check(), Error);
}

TEST(Describe, NeedsNoOperandsThatAreNotRead) {
  Fixture fixture;
  fixture.operands.a.data = nullptr;
  fixture.operands.b.data = nullptr;
  fixture.alpha = 0;
  EXPECT_NO_THROW(fixture.check());
}

TEST(Describe, AcceptsEmptyProducts) {
  for (const GemmShape shape : {GemmShape{0, 5, 6}, GemmShape{4, 0, 6}, GemmShape{0, 0, 0}}) {
    const Operands operands{row_major(static_cast<const float*>(nullptr), shape.m, shape.k),
                            row_major(static_cast<const float*>(nullptr), shape.k, shape.n),
                            row_major(static_cast<float*>(nullptr), shape.m, shape.n)};
    EXPECT_NO_THROW(describe({&operands, 1}, 1, 0, {}));
  }
  EXPECT_NO_THROW(describe({}, 1, 0, {}));
}

TEST(Describe, RefusesGroupsThatOverlapEachOther) {
  Fixture p;
  Fixture q;
  q.operands.c.data = p.c.data() + 10;
  const std::vector<Operands> groups = {p.operands, q.operands};
  try {
    describe(groups, 1, 0, {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("group 1"), std::string::npos) << error.what();
  }
}

TEST(Describe, RefusesFractionsForIntegerProducts) {
  std::vector<std::int8_t> a(4);
  std::vector<std::int32_t> c(4);
  const Operands operands{row_major(a.data(), 2, 2), row_major(a.data(), 2, 2),
                          row_major(c.data(), 2, 2)};
  EXPECT_NO_THROW(describe({&operands, 1}, -2, 3, {}));
  for (const double scalar : {0.5, 0x1p31, -0x1p31 - 1, 1e300, HUGE_VAL, std::nan("")}) {
    EXPECT_THROW(describe({&operands, 1}, scalar, 0, {}), Error) << scalar;
    EXPECT_THROW(describe({&operands, 1}, 1, scalar, {}), Error) << scalar;
  }
  EXPECT_THROW(describe({&operands, 1}, 1, 0, {.activation = Activation::silu}), Error);
}

TEST(Describe, LetsStridesThatLeadNowhereBeAnything) {
  Fixture fixture;
  for (const std::int64_t stride : {std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min(), std::int64_t{0}}) {
    Operands one_row{row_major(fixture.a.data(), 1, 6), row_major(fixture.b.data(), 6, 5),
                     row_major(fixture.c.data(), 1, 5)};
    one_row.a.row_stride = one_row.c.row_stride = stride;
    EXPECT_NO_THROW(describe({&one_row, 1}, 1, 0, {}));
    one_row.bias = {fixture.bias.data(), 1, stride, ElementType::f32};
    EXPECT_NO_THROW(describe({&one_row, 1}, 1, 0, {BiasAxis::row, Activation::none}));
    one_row.c.data = fixture.a.data() + 5;
    EXPECT_THROW(describe({&one_row, 1}, 1, 0, {}), Error);
  }
}

TEST(CheckOperandsFit, ComparesWithThePlan) {
  Fixture fixture;
  Problem planned = fixture.check();
  EXPECT_NO_THROW(check_operands_fit(planned, {&fixture.operands, 1}));
  planned.groups[0].k = 7;
  EXPECT_THROW(check_operands_fit(planned, {&fixture.operands, 1}), Error);
  planned.groups.push_back({});
  EXPECT_THROW(check_operands_fit(planned, {&fixture.operands, 1}), Error);
}

}  // namespace
}  // namespace tessera
