#include "cli/random.hpp"

#include <algorithm>
#include <cmath>

#include "bench/generator.hpp"
#include "core/convert.hpp"

namespace tessera::cli {
namespace {

// Elements that share one generator; large enough that starting it costs nothing.
constexpr std::int64_t kBlock = 1 << 14;

struct AsInteger {
  double mean;
  double low;
  double high;
};

std::int32_t rounded(double normal, const AsInteger& range) {
  constexpr double kDeviation = 32;
  return static_cast<std::int32_t>(
      std::lrint(std::clamp(range.mean + kDeviation * normal, range.low, range.high)));
}

template <class T, class Convert>
void fill(Matrix& matrix, std::uint64_t seed, Convert convert) {
  const auto elements = static_cast<std::int64_t>(matrix.bytes().size() / sizeof(T));
  auto* const data = reinterpret_cast<T*>(matrix.bytes().data());
  const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (blocks > 8)
  for (std::int64_t block = 0; block < blocks; ++block) {
    bench::Generator generator(bench::mix_bits(seed + 0x9e3779b97f4a7c15U) +
                               static_cast<std::uint64_t>(block));
    const std::int64_t end = std::min(elements, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) data[i] = convert(generator.normal());
  }
}

}  // namespace

void fill_random(Matrix& matrix, std::uint64_t seed) {
  switch (matrix.type()) {
    case ElementType::f64:
      return fill<double>(matrix, seed, [](double x) { return x; });
    case ElementType::f32:
      return fill<float>(matrix, seed, [](double x) { return static_cast<float>(x); });
    case ElementType::f16:
      return fill<f16>(matrix, seed, [](double x) { return to_f16(static_cast<float>(x)); });
    case ElementType::bf16:
      return fill<bf16>(matrix, seed, [](double x) { return to_bf16(static_cast<float>(x)); });
    case ElementType::i8:
      return fill<std::int8_t>(matrix, seed, [](double x) {
        return static_cast<std::int8_t>(rounded(x, {0, -127, 127}));
      });
    case ElementType::u8:
      return fill<std::uint8_t>(matrix, seed, [](double x) {
        return static_cast<std::uint8_t>(rounded(x, {128, 0, 255}));
      });
    case ElementType::i32:
      return fill<std::int32_t>(matrix, seed, [](double x) {
        return rounded(x, {0, -32768, 32767});
      });
  }
}

}  // namespace tessera::cli
