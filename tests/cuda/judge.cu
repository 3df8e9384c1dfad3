#include "cuda/judge.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/cuda/random.cuh"
#include "core/reference.hpp"
#include "cuda/device_scalar.cuh"
#include "cuda/tally.cuh"

namespace tessera::test {
namespace {

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

struct Product {
  JudgeRequest request;
  Bound bound;
};

// What an element of A·B is, and what bounds its rounding.
struct Sums {
  double dot = 0;
  double magnitude = 0;

  __device__ void add(double a, double b) {
    dot += a * b;
    magnitude += fabs(a * b);
  }
};

// Where an element stands in a tally: its product's number above these bits, row·cols + col below.
constexpr int kElementBits = 40;
constexpr std::int64_t kGridRows = 65535;
constexpr int kWarp = 32;
// A block judges a square of C, whose sums it takes from this depth of A and B at a time.
constexpr int kSide = 16;
constexpr int kDepth = 32;

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

// By the warp's 32 threads together.
__device__ Sums sums_of_element(const JudgeRequest& request, std::int64_t row, std::int64_t col) {
  const ConstMatrixView& a = request.operands.a;
  const ConstMatrixView& b = request.operands.b;
  Sums sums;
  if (request.alpha == 0) return sums;
  for (std::int64_t l = threadIdx.x % kWarp; l < a.cols; l += kWarp) {
    sums.add(load_scalar(a.data, row * a.row_stride + l * a.col_stride, a.type),
             load_scalar(b.data, l * b.row_stride + col * b.col_stride, b.type));
  }
  for (int other = kWarp / 2; other > 0; other /= 2) {
    sums.dot += __shfl_xor_sync(~0U, sums.dot, other);
    sums.magnitude += __shfl_xor_sync(~0U, sums.magnitude, other);
  }
  return sums;
}

// By the block, each thread its own element of the square of C that begins at (row, col).
__device__ Sums sums_of_square(const JudgeRequest& request, std::int64_t row, std::int64_t col) {
  const ConstMatrixView& a = request.operands.a;
  const ConstMatrixView& b = request.operands.b;
  __shared__ double a_part[kSide][kDepth + 1];
  __shared__ double b_part[kDepth][kSide + 1];
  const int thread = static_cast<int>(threadIdx.x);
  Sums sums;
  if (request.alpha == 0) return sums;
  for (std::int64_t k = 0; k < a.cols; k += kDepth) {
    __syncthreads();
    for (int i = thread; i < kSide * kDepth; i += kSide * kSide) {
      const std::int64_t m = row + i / kDepth;
      const std::int64_t l = k + i % kDepth;
      a_part[i / kDepth][i % kDepth] =
          m < a.rows && l < a.cols
              ? load_scalar(a.data, m * a.row_stride + l * a.col_stride, a.type)
              : 0;
    }
    for (int i = thread; i < kSide * kDepth; i += kSide * kSide) {
      const std::int64_t l = k + i / kSide;
      const std::int64_t n = col + i % kSide;
      b_part[i / kSide][i % kSide] =
          l < b.rows && n < b.cols
              ? load_scalar(b.data, l * b.row_stride + n * b.col_stride, b.type)
              : 0;
    }
    __syncthreads();
    for (int l = 0; l < kDepth; ++l) sums.add(a_part[thread / kSide][l], b_part[l][thread % kSide]);
  }
  return sums;
}

__device__ Element element(const Product& product, std::int64_t row, std::int64_t col,
                           const Sums& sums) {
  const JudgeRequest& request = product.request;
  const Bound& bound = product.bound;
  const MatrixView& c = request.operands.c;
  const ConstVectorView& bias_view = request.operands.bias;
  const std::int64_t place = row * c.row_stride + col * c.col_stride;
  double value = request.alpha * sums.dot;
  double magnitude = fabs(request.alpha) * sums.magnitude;
  if (request.beta != 0) {
    const double before = request.beta * load_scalar(request.c_before, place, c.type);
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
  const double got = load_scalar(c.data, place, c.type);
  if (request.exact) return {got, rounded_to(c.type, activated), 0};

  const double depth = static_cast<double>(request.operands.a.cols + request.contributors + 4);
  const double gamma = depth * bound.accumulator / (1 - depth * bound.accumulator);
  const bool none = request.epilogue.activation == Activation::none;
  const double from_sum = (none ? 1.0 : 1.13) * gamma * magnitude;
  const double from_activation = none ? 0 : 16 * bound.accumulator * fabs(value);
  const double from_output = 1.01 * bound.output * (fabs(activated) + from_sum) + bound.tiny;
  const double from_judge = (none ? 1.0 : 1.13) * depth * 0x1p-53 * magnitude;
  return {got, activated, from_sum + from_activation + from_output + from_judge};
}

__device__ void judge_element(const Product& product, std::int64_t which, std::int64_t row,
                              std::int64_t col, const Sums& sums, Tally* wrong) {
  const Element e = element(product, row, col, sums);
  const bool right = fabs(e.got - e.want) <= e.tolerance || e.got == e.want;
  if (!right) wrong->note(which << kElementBits | (row * product.request.operands.c.cols + col));
}

__host__ __device__ std::int64_t squares_along(std::int64_t length) {
  return (length + kSide - 1) / kSide;
}

// One block row per product.
__global__ void judge_kernel(const Product* products, std::int64_t product_count, Tally* wrong) {
  for (std::int64_t which = blockIdx.y; which < product_count; which += gridDim.y) {
    const Product product = products[which];
    const MatrixView& c = product.request.operands.c;
    const std::int64_t across = squares_along(c.cols);
    for (std::int64_t i = blockIdx.x; i < squares_along(c.rows) * across; i += gridDim.x) {
      const std::int64_t first_row = i / across * kSide;
      const std::int64_t first_col = i % across * kSide;
      const Sums sums = sums_of_square(product.request, first_row, first_col);
      const std::int64_t row = first_row + threadIdx.x / kSide;
      const std::int64_t col = first_col + threadIdx.x % kSide;
      if (row < c.rows && col < c.cols) judge_element(product, which, row, col, sums, wrong);
    }
  }
}

struct Place {
  std::int64_t row;
  std::int64_t col;
};

// Most of what goes wrong does so where tiles or whole matrices end.
__device__ Place place_of_sample(std::int64_t i, const MatrixView& c) {
  const std::int64_t last_row = c.rows - 1;
  const std::int64_t last_col = c.cols - 1;
  if (i < 4) return {i / 2 == 0 ? 0 : last_row, i % 2 == 0 ? 0 : last_col};
  const std::uint64_t random = mix(static_cast<std::uint64_t>(i));
  const auto row = static_cast<std::int64_t>(random % static_cast<std::uint64_t>(c.rows));
  const auto col = static_cast<std::int64_t>(random / static_cast<std::uint64_t>(c.rows) %
                                             static_cast<std::uint64_t>(c.cols));
  switch (i % 16) {
    case 0:
      return {0, col};
    case 1:
      return {last_row, col};
    case 2:
      return {row, 0};
    case 3:
      return {row, last_col};
    default:
      return {row, col};
  }
}

// One warp per sample.
__global__ void sample_kernel(const Product* products, std::int64_t product_count, Tally* wrong) {
  for (std::int64_t which = blockIdx.y; which < product_count; which += gridDim.y) {
    const Product product = products[which];
    const MatrixView& c = product.request.operands.c;
    if (c.rows * c.cols == 0) continue;
    for (std::int64_t i = first_index() / kWarp; i < product.request.samples;
         i += index_step() / kWarp) {
      const auto [row, col] = place_of_sample(i, c);
      const Sums sums = sums_of_element(product.request, row, col);
      if (threadIdx.x % kWarp == 0) judge_element(product, which, row, col, sums, wrong);
    }
  }
}

__global__ void explain_kernel(const Product* product, std::int64_t at, Element* out) {
  const std::int64_t row = at / product->request.operands.c.cols;
  const std::int64_t col = at % product->request.operands.c.cols;
  const Element e = element(*product, row, col, sums_of_element(product->request, row, col));
  if (threadIdx.x == 0) *out = e;
}

std::string explain(const Tally& wrong, std::int64_t judged, std::span<const JudgeRequest> requests,
                    const Product* products) {
  const auto which = static_cast<std::int64_t>(wrong.first >> kElementBits);
  const auto at = static_cast<std::int64_t>(wrong.first & ((1ULL << kElementBits) - 1));
  const DeviceBuffer explained(sizeof(Element));
  explain_kernel<<<1, kWarp>>>(products + which, at, static_cast<Element*>(explained.data()));
  check(cudaGetLastError());
  Element element{};
  check(cudaMemcpy(&element, explained.data(), sizeof element, cudaMemcpyDeviceToHost));
  const MatrixView& c = requests[static_cast<std::size_t>(which)].operands.c;
  char text[256];
  std::snprintf(text, sizeof text,
                "%llu of %lld elements wrong; the first at (%lld, %lld) of product %lld: %.9g, "
                "expected %.9g ± %.3g",
                wrong.count, static_cast<long long>(judged), static_cast<long long>(at / c.cols),
                static_cast<long long>(at % c.cols), static_cast<long long>(which), element.got,
                element.want, element.tolerance);
  return text;
}

}  // namespace

std::string judge(std::span<const JudgeRequest> requests) {
  std::vector<Product> products;
  std::int64_t judged = 0;
  std::int64_t most_blocks = 0;
  const std::int64_t samples = requests.empty() ? 0 : requests.front().samples;
  for (const JudgeRequest& request : requests) {
    const MatrixView& c = request.operands.c;
    const GemmTypes types{request.operands.a.type, request.operands.b.type, c.type};
    products.push_back({request,
                        {unit_roundoff(accumulator_of(types)), unit_roundoff(types.c),
                         smallest_subnormal(types.c)}});
    judged += samples > 0 ? samples : c.rows * c.cols;
    most_blocks =
        std::max(most_blocks, samples > 0 ? samples * kWarp / (kSide * kSide) + 1
                                          : squares_along(c.rows) * squares_along(c.cols));
  }
  if (judged == 0) return "";

  const DeviceBuffer memory(products.size() * sizeof(Product));
  auto* const uploaded = static_cast<Product*>(memory.data());
  check(cudaMemcpyAsync(uploaded, products.data(), memory.size(), cudaMemcpyHostToDevice, nullptr));
  const auto count = static_cast<std::int64_t>(products.size());
  const dim3 grid(static_cast<unsigned>(std::min<std::int64_t>(most_blocks, 1 << 20)),
                  static_cast<unsigned>(std::min(count, kGridRows)));
  const DeviceTally wrong;
  (samples > 0 ? sample_kernel : judge_kernel)<<<grid, kSide * kSide>>>(uploaded, count,
                                                                        wrong.device());
  const Tally found = wrong.read();
  return found.count == 0 ? "" : explain(found, judged, requests, uploaded);
}

}  // namespace tessera::test
