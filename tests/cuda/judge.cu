#include "cuda/judge.hpp"

#include <algorithm>
#include <cstdio>

#include "core/reference.hpp"
#include "cuda/device.hpp"
#include "cuda/device_scalar.cuh"

namespace tessera::test {
namespace {

struct Wrong {
  unsigned long long count;
  unsigned long long first;  // row·cols + col
};

struct Element {
  double got;
  double want;
  double tolerance;
};

struct Bound {
  double accumulator;  // unit roundoffs
  double output;
  double tiny;  // absolute error of results below C's normal range
};

__device__ double activation_of(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case Activation::gelu_erf:
      return 0.5 * x * (1 + erf(0.70710678118654752440 * x));
    case Activation::silu:
      return x / (1 + exp(-x));
  }
  return x;
}

__device__ Element element(const JudgeRequest& request, const Bound& bound, std::int64_t row,
                           std::int64_t col) {
  const ConstMatrixView& a = request.operands.a;
  const ConstMatrixView& b = request.operands.b;
  const MatrixView& c = request.operands.c;
  const ConstVectorView& bias_view = request.operands.bias;
  double dot = 0;
  double magnitude = 0;
  if (request.alpha != 0) {
    for (std::int64_t l = 0; l < a.cols; ++l) {
      const double p = load_scalar(a.data, row * a.row_stride + l * a.col_stride, a.type);
      const double q = load_scalar(b.data, l * b.row_stride + col * b.col_stride, b.type);
      dot += p * q;
      magnitude += fabs(p * q);
    }
  }
  const std::int64_t at = row * c.row_stride + col * c.col_stride;
  double value = request.alpha != 0 ? request.alpha * dot : 0;
  magnitude *= fabs(request.alpha);
  if (request.beta != 0) {
    const double before = request.beta * load_scalar(request.c_before, at, c.type);
    value += before;
    magnitude += fabs(before);
  }
  if (request.epilogue.bias != BiasAxis::none) {
    const std::int64_t i = request.epilogue.bias == BiasAxis::row ? row : col;
    const double bias = load_scalar(bias_view.data, i * bias_view.stride, bias_view.type);
    value += bias;
    magnitude += fabs(bias);
  }
  const double activated = activation_of(request.epilogue.activation, value);
  const double got = load_scalar(c.data, at, c.type);
  if (request.exact) return {got, rounded_to(c.type, activated), 0};

  const double depth = static_cast<double>(a.cols + request.contributors + 4);
  const double gamma = depth * bound.accumulator / (1 - depth * bound.accumulator);
  const bool none = request.epilogue.activation == Activation::none;
  const double from_sum = (none ? 1.0 : 1.13) * gamma * magnitude;
  const double from_activation = none ? 0 : 16 * bound.accumulator * fabs(value);
  const double from_output = 1.01 * bound.output * (fabs(activated) + from_sum) + bound.tiny;
  const double from_judge = (none ? 1.0 : 1.13) * depth * 0x1p-53 * magnitude;
  return {got, activated, from_sum + from_activation + from_output + from_judge};
}

__device__ std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

__global__ void judge_kernel(JudgeRequest request, Bound bound, Wrong* wrong) {
  const MatrixView& c = request.operands.c;
  const std::int64_t all = c.rows * c.cols;
  const std::int64_t count = request.samples > 0 ? request.samples : all;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const auto at = request.samples > 0
                        ? static_cast<std::int64_t>(scramble(static_cast<std::uint64_t>(i) + 1) %
                                                    static_cast<std::uint64_t>(all))
                        : i;
    const Element e = element(request, bound, at / c.cols, at % c.cols);
    const bool right = fabs(e.got - e.want) <= e.tolerance || e.got == e.want;
    if (right) continue;
    atomicAdd(&wrong->count, 1ULL);
    atomicMin(&wrong->first, static_cast<unsigned long long>(at));
  }
}

__global__ void explain_kernel(JudgeRequest request, Bound bound, std::int64_t at, Element* out) {
  *out = element(request, bound, at / request.operands.c.cols, at % request.operands.c.cols);
}

}  // namespace

std::string judge(const JudgeRequest& request) {
  const MatrixView& c = request.operands.c;
  if (c.rows * c.cols == 0) return "";
  const GemmTypes types{request.operands.a.type, request.operands.b.type, c.type};
  const Bound bound{unit_roundoff(accumulator_of(types)), unit_roundoff(types.c),
                    smallest_subnormal(types.c)};

  const DeviceBuffer memory(sizeof(Wrong) + sizeof(Element));
  auto* const wrong = static_cast<Wrong*>(memory.data());
  auto* const explained = reinterpret_cast<Element*>(wrong + 1);
  Wrong host{0, ~0ULL};
  check(cudaMemcpy(wrong, &host, sizeof host, cudaMemcpyHostToDevice));
  const std::int64_t count = request.samples > 0 ? request.samples : c.rows * c.cols;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((count + 127) / 128, 1 << 20));
  judge_kernel<<<blocks, 128>>>(request, bound, wrong);
  check(cudaGetLastError());
  check(cudaMemcpy(&host, wrong, sizeof host, cudaMemcpyDeviceToHost));
  if (host.count == 0) return "";

  const auto at = static_cast<std::int64_t>(host.first);
  explain_kernel<<<1, 1>>>(request, bound, at, explained);
  check(cudaGetLastError());
  Element element{};
  check(cudaMemcpy(&element, explained, sizeof element, cudaMemcpyDeviceToHost));
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%llu of %lld elements wrong; the first at (%lld, %lld): %.9g, expected %.9g ± %.3g",
      host.count, static_cast<long long>(count), static_cast<long long>(at / c.cols),
      static_cast<long long>(at % c.cols), element.got, element.want, element.tolerance);
  return text;
}

}  // namespace tessera::test
