#include "bench/generator.hpp"

#include <array>
#include <bit>
#include <cmath>

namespace tessera::bench {
namespace {

// The bell curve exp(-x²/2) covered by 256 layers of equal area.
struct Ziggurat {
  static constexpr int kLayers = 256;
  static constexpr double kTail = 3.6541528853610088;  // where the bottom layer's tail starts
  static constexpr double kArea = 4.92867323399e-3;

  std::array<double, kLayers + 1> edge{};
  std::array<double, kLayers + 1> height{};

  Ziggurat() {
    edge[0] = kArea / std::exp(-0.5 * kTail * kTail);
    edge[1] = kTail;
    edge[kLayers] = 0;
    for (int i = 1; i + 1 < kLayers; ++i) {
      edge[i + 1] = std::sqrt(-2 * std::log(kArea / edge[i] + std::exp(-0.5 * edge[i] * edge[i])));
    }
    for (int i = 0; i <= kLayers; ++i) height[i] = std::exp(-0.5 * edge[i] * edge[i]);
  }
};

const Ziggurat& ziggurat() {
  static const Ziggurat tables;
  return tables;
}

}  // namespace

std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

Generator::Generator(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = mix_bits(seed += 0x9e3779b97f4a7c15U);
}

std::uint64_t Generator::next() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Generator::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Generator::normal() {
  const Ziggurat& tables = ziggurat();
  while (true) {
    const std::uint64_t bits = next();
    const auto layer = static_cast<std::size_t>(bits & 255);
    const double sign = (bits & 256) != 0 ? -1.0 : 1.0;
    const double x = static_cast<double>(bits >> 11) * 0x1p-53 * tables.edge[layer];
    if (x < tables.edge[layer + 1]) return sign * x;
    if (layer == 0) {
      double beyond = 0;
      double bound = 0;
      do {
        beyond = -std::log(1 - uniform()) / Ziggurat::kTail;
        bound = -std::log(1 - uniform());
      } while (2 * bound < beyond * beyond);
      return sign * (Ziggurat::kTail + beyond);
    }
    const double low = tables.height[layer];
    const double high = tables.height[layer + 1];
    if (low + uniform() * (high - low) < std::exp(-0.5 * x * x)) return sign * x;
  }
}

double Generator::gamma(double shape) {
  // A shape below 1 is a shape one larger, scaled down.
  if (shape < 1) return gamma(shape + 1) * std::pow(1 - uniform(), 1 / shape);
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace tessera::bench
