#include "core/reference.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/activation.hpp"
#include "core/convert.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

template <class T>
double load(const void* data, std::int64_t index) {
  const T value = static_cast<const T*>(data)[index];
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    return to_float(value);
  }
}

double load_as_double(const void* data, std::int64_t index, ElementType type) {
  switch (type) {
    case ElementType::f64:
      return load<double>(data, index);
    case ElementType::f32:
      return load<float>(data, index);
    case ElementType::f16:
      return load<f16>(data, index);
    case ElementType::bf16:
      return load<bf16>(data, index);
    case ElementType::i8:
      return load<std::int8_t>(data, index);
    case ElementType::u8:
      return load<std::uint8_t>(data, index);
    case ElementType::i32:
      return load<std::int32_t>(data, index);
  }
  return 0;
}

// 16-bit types round twice, through float: that adds at most 2^-24 relative error, which the factor
// 1.01 of the tolerance covers.
void store(const MatrixView& view, std::int64_t row, std::int64_t col, double value) {
  const std::int64_t index = row * view.row_stride + col * view.col_stride;
  switch (view.type) {
    case ElementType::f64:
      static_cast<double*>(view.data)[index] = value;
      return;
    case ElementType::f32:
      static_cast<float*>(view.data)[index] = static_cast<float>(value);
      return;
    case ElementType::f16:
      static_cast<f16*>(view.data)[index] = to_f16(static_cast<float>(value));
      return;
    case ElementType::bf16:
      static_cast<bf16*>(view.data)[index] = to_bf16(static_cast<float>(value));
      return;
    case ElementType::i32:
      // Two's complement wrap-around, as the integer kernels do.
      static_cast<std::int32_t*>(view.data)[index] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
      return;
    case ElementType::i8:
    case ElementType::u8:
      break;
  }
  throw Error(ErrorCode::unsupported, "C", "be of a type that products can have",
              std::string(name_of(view.type)), "see is_supported");
}

struct Dot {
  long double value = 0;
  long double magnitude = 0;
};

// A row of A times a column of B. Tests spend most of their time here: types are told apart once,
// and several sums do not wait for each other. The oracle's own rounding stays far below that of
// the product it judges: long double for f64, double for the others.
template <class A, class B>
Dot dot_of(const Operands& o, std::int64_t row, std::int64_t col) {
  using Wide = std::conditional_t<std::is_same_v<A, double>, long double, double>;
  constexpr std::int64_t kSums = 4;
  Wide values[kSums] = {};
  Wide magnitudes[kSums] = {};
  const auto add = [&](std::int64_t l, std::int64_t sum) {
    const Wide product =
        static_cast<Wide>(load<A>(o.a.data, row * o.a.row_stride + l * o.a.col_stride)) *
        static_cast<Wide>(load<B>(o.b.data, l * o.b.row_stride + col * o.b.col_stride));
    values[sum] += product;
    magnitudes[sum] += std::fabs(product);
  };
  std::int64_t l = 0;
  for (; l + kSums <= o.a.cols; l += kSums) {
    for (std::int64_t sum = 0; sum < kSums; ++sum) add(l + sum, sum);
  }
  for (; l < o.a.cols; ++l) add(l, 0);
  Dot dot;
  for (std::int64_t sum = 0; sum < kSums; ++sum) {
    dot.value += values[sum];
    dot.magnitude += magnitudes[sum];
  }
  return dot;
}

Dot dot_of(const Operands& o, std::int64_t row, std::int64_t col) {
  const ElementType a = o.a.type;
  switch (o.b.type == (a == ElementType::u8 ? ElementType::i8 : a) ? a : ElementType::i32) {
    case ElementType::f64:
      return dot_of<double, double>(o, row, col);
    case ElementType::f32:
      return dot_of<float, float>(o, row, col);
    case ElementType::f16:
      return dot_of<f16, f16>(o, row, col);
    case ElementType::bf16:
      return dot_of<bf16, bf16>(o, row, col);
    case ElementType::i8:
      return dot_of<std::int8_t, std::int8_t>(o, row, col);
    case ElementType::u8:
      return dot_of<std::uint8_t, std::int8_t>(o, row, col);
    case ElementType::i32:
      break;
  }
  throw Error(ErrorCode::unsupported, "A and B", "be of types that products can have",
              std::string(name_of(a)) + " and " + std::string(name_of(o.b.type)),
              "see is_supported");
}

struct Sum {
  double value = 0;      // alpha·ΣAB + beta·C + bias
  double magnitude = 0;  // the same with absolute values throughout
};

Sum sum_element(double alpha, const Operands& o, double beta, const Epilogue& epilogue,
                std::int64_t row, std::int64_t col, double c_before) {
  const Dot dot = alpha != 0 ? dot_of(o, row, col) : Dot{};
  long double value = alpha * dot.value;
  long double magnitude = std::fabs(alpha) * dot.magnitude;
  if (beta != 0) {
    value += static_cast<long double>(beta) * c_before;
    magnitude += std::fabs(static_cast<long double>(beta) * c_before);
  }
  if (epilogue.bias != BiasAxis::none) {
    const std::int64_t i = epilogue.bias == BiasAxis::row ? row : col;
    const double bias = load_as_double(o.bias.data, i * o.bias.stride, o.bias.type);
    value += bias;
    magnitude += std::fabs(bias);
  }
  return {static_cast<double>(value), static_cast<double>(magnitude)};
}

}  // namespace

double largest_finite(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return std::numeric_limits<double>::max();
    case ElementType::f32:
      return std::numeric_limits<float>::max();
    case ElementType::f16:
      return 65504;
    case ElementType::bf16:
      return 0x1.fep127;
    default:
      return 0;
  }
}

double smallest_subnormal(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return std::numeric_limits<double>::denorm_min();
    case ElementType::f16:
      return 0x1p-24;
    case ElementType::f32:
    case ElementType::bf16:
      return 0x1p-133;
    default:
      return 0;
  }
}

double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-53;
    case ElementType::f32:
      return 0x1p-24;
    case ElementType::f16:
      return 0x1p-11;
    case ElementType::bf16:
      return 0x1p-8;
    default:
      return 0;
  }
}

double element_at(const ConstMatrixView& view, std::int64_t row, std::int64_t col) {
  return load_as_double(view.data, row * view.row_stride + col * view.col_stride, view.type);
}

void reference_gemm(double alpha, const Operands& o, double beta, const Epilogue& epilogue) {
  for (std::int64_t row = 0; row < o.c.rows; ++row) {
    for (std::int64_t col = 0; col < o.c.cols; ++col) {
      const double before = beta != 0 ? element_at(o.c, row, col) : 0.0;
      const Sum sum = sum_element(alpha, o, beta, epilogue, row, col, before);
      store(o.c, row, col, apply_activation(epilogue.activation, sum.value));
    }
  }
}

Expected expected_element(double alpha, const Operands& o, double beta, const Epilogue& epilogue,
                          std::int64_t row, std::int64_t col, double c_before,
                          std::int64_t contributors) {
  const GemmTypes types{o.a.type, o.b.type, o.c.type};
  const Sum sum = sum_element(alpha, o, beta, epilogue, row, col, c_before);
  const double accumulator = unit_roundoff(accumulator_of(types));
  // k products and their additions, the pieces of the fix-up, and alpha, beta, bias in the
  // epilogue.
  const double roundings = static_cast<double>(o.a.cols + contributors + 4);
  const double gamma = roundings * accumulator / (1 - roundings * accumulator);
  // Every activation here has a slope below 1.13; evaluating it costs a few roundings more.
  const bool activated = epilogue.activation != Activation::none;
  const double slope = activated ? 1.13 : 1.0;
  const double value = apply_activation(epilogue.activation, sum.value);
  const double from_sum = slope * gamma * sum.magnitude;
  const double from_activation = activated ? 16 * accumulator * (std::fabs(sum.value)) : 0.0;
  const double from_output =
      1.01 * unit_roundoff(types.c) * (std::fabs(value) + from_sum) + smallest_subnormal(types.c);
  return {value, from_sum + from_activation + from_output};
}

}  // namespace tessera
