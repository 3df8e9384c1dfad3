#include "cli/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/generator.hpp"
#include "cli/interrupt.hpp"
#include "core/convert.hpp"
#include "core/reference.hpp"

namespace tessera::cli {
namespace {

constexpr int kVectors = 20;
constexpr std::int64_t kSampledElements = 256;

// One value per test vector.
using Lanes = std::array<double, kVectors>;

// Error over allowed error. NaN agrees with NaN and an infinity with itself.
double error_ratio(double found, double expected, double tolerance) {
  constexpr double kHopeless = std::numeric_limits<double>::infinity();
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double error = std::fabs(found - expected);
  return std::isfinite(error) && tolerance > 0 ? error / tolerance : kHopeless;
}

class Judge {
 public:
  Judge(const Operands& operands, const ConstMatrixView& c_before, const VerifyOptions& options)
      : operands_(operands), c_before_(c_before), options_(options) {}

  void element(std::int64_t row, std::int64_t col) {
    const double before = options_.beta != 0 ? element_at(c_before_, row, col) : 0.0;
    const Expected expected =
        expected_element(options_.alpha, operands_, options_.beta, options_.epilogue, row, col,
                         before, options_.contributors);
    const double found = element_at(operands_.c, row, col);
    if (overflows(found, expected)) return;
    const double ratio = error_ratio(found, expected.value, expected.tolerance);
    note(ratio, [&] {
      return fmt::format("C({}, {}) is {:.9g}, must be {:.9g} within {:.3g}", row, col, found,
                         expected.value, expected.tolerance);
    });
  }

  template <class Text>
  void note(double ratio, Text text) {
    if (ratio <= worst_) return;
    worst_ = ratio;
    if (ratio > 1) failure_ = text();
  }

  Verification verdict(std::string method) const {
    return {failure_.empty(), std::move(method), worst_, failure_};
  }

 private:
  // Whether a result is infinite because it, or what it is the sum of, is too large for its type.
  bool overflows(double found, const Expected& expected) const {
    if (std::isfinite(found) || operands_.c.type == ElementType::i32) return false;
    if (std::isinf(expected.tolerance)) return true;
    return std::isinf(found) && std::signbit(found) == std::signbit(expected.value) &&
           std::fabs(expected.value) + expected.tolerance >= largest_finite(operands_.c.type);
  }

  const Operands& operands_;
  const ConstMatrixView& c_before_;
  const VerifyOptions& options_;
  double worst_ = 0;
  std::string failure_;
};

// One row of a view as doubles.
void read_row(const ConstMatrixView& view, std::int64_t row, std::vector<double>& values) {
  const auto convert = [&](auto to_double, auto type) {
    using T = decltype(type);
    const T* const data = static_cast<const T*>(view.data) + row * view.row_stride;
    for (std::int64_t j = 0; j < view.cols; ++j) {
      values[static_cast<std::size_t>(j)] = to_double(data[j * view.col_stride]);
    }
  };
  const auto plain = [](auto x) { return static_cast<double>(x); };
  const auto half = [](auto x) { return static_cast<double>(to_float(x)); };
  switch (view.type) {
    case ElementType::f64:
      return convert(plain, double{});
    case ElementType::f32:
      return convert(plain, float{});
    case ElementType::f16:
      return convert(half, f16{});
    case ElementType::bf16:
      return convert(half, bf16{});
    case ElementType::i8:
      return convert(plain, std::int8_t{});
    case ElementType::u8:
      return convert(plain, std::uint8_t{});
    case ElementType::i32:
      return convert(plain, std::int32_t{});
  }
}

struct Products {
  std::vector<Lanes> signed_sums;     // view · X, one row each
  std::vector<double> absolute_sums;  // |view| · |y|
};

// Multiplies a matrix with the vectors X, and its absolute values with y.
Products multiply(const ConstMatrixView& view, const std::vector<Lanes>& x,
                  const std::vector<double>& y) {
  Products products;
  products.signed_sums.resize(static_cast<std::size_t>(view.rows));
  products.absolute_sums.resize(static_cast<std::size_t>(view.rows));
#pragma omp parallel
  {
    std::vector<double> values(static_cast<std::size_t>(view.cols));
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < view.rows; ++row) {
      if (is_interrupted()) continue;
      read_row(view, row, values);
      Lanes sums{};
      double absolute = 0;
      for (std::size_t j = 0; j < values.size(); ++j) {
        for (int v = 0; v < kVectors; ++v) sums[v] += values[j] * x[j][v];
        absolute += std::fabs(values[j]) * y[j];
      }
      products.signed_sums[static_cast<std::size_t>(row)] = sums;
      products.absolute_sums[static_cast<std::size_t>(row)] = absolute;
    }
  }
  throw_if_interrupted();
  return products;
}

std::vector<Lanes> random_signs(std::int64_t rows, bench::Generator& generator) {
  std::vector<Lanes> vectors(static_cast<std::size_t>(rows));
  for (Lanes& lanes : vectors) {
    std::uint64_t bits = generator.next();
    for (double& lane : lanes) {
      lane = (bits & 1) != 0 ? 1.0 : -1.0;
      bits >>= 1;
    }
  }
  return vectors;
}

// What a bias adds to C·x in one row, and its share of the bound.
struct BiasSums {
  Lanes signed_sums{};
  double absolute_sum = 0;
};

class BiasProduct {
 public:
  BiasProduct(const ConstVectorView& bias, BiasAxis axis, const std::vector<Lanes>& x)
      : axis_(axis) {
    if (axis == BiasAxis::none) return;
    // A vector as one row, and X's column sums for a bias that is one value to a row.
    values_.resize(static_cast<std::size_t>(bias.size));
    read_row({bias.data, 1, bias.size, 0, bias.stride, bias.type}, 0, values_);
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double factor = axis == BiasAxis::column ? values_[j] : 1.0;
      for (int v = 0; v < kVectors; ++v) sums_.signed_sums[v] += factor * x[j][v];
      sums_.absolute_sum += std::fabs(factor);
    }
  }

  BiasSums row(std::size_t row) const {
    if (axis_ != BiasAxis::row) return sums_;
    BiasSums scaled = sums_;
    for (double& sum : scaled.signed_sums) sum *= values_[row];
    scaled.absolute_sum *= std::fabs(values_[row]);
    return scaled;
  }

 private:
  BiasAxis axis_;
  std::vector<double> values_;
  BiasSums sums_;
};

// Every row of C·x against alpha·A·(B·x) + beta·C₀·x + bias·x. The bound is the sum of the
// elements' bounds and of this check's own rounding in float64.
void freivalds(Judge& judge, const Operands& o, const ConstMatrixView& c_before,
               const VerifyOptions& options, bench::Generator& generator) {
  const std::vector<Lanes> x = random_signs(o.c.cols, generator);
  const std::vector<double> ones(x.size(), 1.0);
  const Products cx = multiply(o.c, x, ones);
  Products product;
  if (options.alpha != 0) {
    const Products bx = multiply(o.b, x, ones);
    product = multiply(o.a, bx.signed_sums, bx.absolute_sums);
  }
  Products before;
  if (options.beta != 0) before = multiply(c_before, x, ones);

  const BiasProduct bias(o.bias, options.epilogue.bias, x);

  const GemmTypes types{o.a.type, o.b.type, o.c.type};
  const auto k = static_cast<double>(o.a.cols);
  const auto n = static_cast<double>(o.c.cols);
  const double own = (k + n + 8) * unit_roundoff(ElementType::f64);
  const double gamma =
      (k + static_cast<double>(options.contributors) + 4) * unit_roundoff(accumulator_of(types));
  const double output = 1.01 * unit_roundoff(types.c);
  const double least = n * (types.c == ElementType::f16 ? 0x1p-24 : 0x1p-133);

  for (std::size_t row = 0; row < cx.signed_sums.size(); ++row) {
    const BiasSums added = bias.row(row);
    double magnitude = added.absolute_sum;
    if (options.alpha != 0) magnitude += std::fabs(options.alpha) * product.absolute_sums[row];
    if (options.beta != 0) magnitude += std::fabs(options.beta) * before.absolute_sums[row];
    const double tolerance =
        (gamma + 2 * own) * magnitude + (output + own) * cx.absolute_sums[row] + least;
    for (std::size_t v = 0; v < kVectors; ++v) {
      double expected = added.signed_sums[v];
      if (options.alpha != 0) expected += options.alpha * product.signed_sums[row][v];
      if (options.beta != 0) expected += options.beta * before.signed_sums[row][v];
      double found = cx.signed_sums[row][v];
      // Some element may be infinite, and rightly so; the elements that are looked at must tell.
      const bool may_overflow = !(magnitude < largest_finite(types.c));
      if (!std::isfinite(found) && may_overflow) continue;
      // 32-bit integers wrap around, so sums agree up to multiples of 2³².
      if (types.c == ElementType::i32) {
        found = expected + std::remainder(found - expected, 0x1p32);
      }
      judge.note(error_ratio(found, expected, tolerance), [&] {
        return fmt::format(
            "row {} of C times a random vector is {:.9g}, must be {:.9g} within {:.3g}", row, found,
            expected, tolerance);
      });
    }
  }
}

}  // namespace

Verification verify(const Operands& operands, const ConstMatrixView& c_before,
                    const VerifyOptions& options) {
  const std::int64_t rows = operands.c.rows;
  const std::int64_t cols = operands.c.cols;
  Judge judge(operands, c_before, options);
  if (rows == 0 || cols == 0) return judge.verdict("nothing to verify, C is empty");

  const double work = static_cast<double>(rows) * static_cast<double>(cols) *
                      static_cast<double>(std::max<std::int64_t>(operands.a.cols, 1));
  if (options.effort == VerifyEffort::full && work <= options.max_reference_work) {
    for (std::int64_t row = 0; row < rows; ++row) {
      throw_if_interrupted();
      for (std::int64_t col = 0; col < cols; ++col) judge.element(row, col);
    }
    return judge.verdict(fmt::format("all {} elements", rows * cols));
  }

  bench::Generator generator(options.seed + 1);
  const auto any_below = [&](std::int64_t size) {
    return static_cast<std::int64_t>(generator.uniform() * static_cast<double>(size));
  };
  judge.element(0, 0);
  judge.element(rows - 1, cols - 1);
  for (std::int64_t i = 2; i < kSampledElements; ++i) {
    throw_if_interrupted();
    judge.element(any_below(rows), any_below(cols));
  }
  const std::string sample = fmt::format("{} elements", kSampledElements);
  // An activation is not linear; the sample has to do.
  if (options.effort == VerifyEffort::sample || options.epilogue.activation != Activation::none) {
    return judge.verdict(sample);
  }
  freivalds(judge, operands, c_before, options, generator);
  return judge.verdict(fmt::format("{} vectors (Freivalds) and {}", kVectors, sample));
}

}  // namespace tessera::cli
