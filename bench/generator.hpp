// Random numbers that are the same on every machine, which the standard library's distributions are
// not.
#pragma once

#include <cstdint>

namespace tessera::bench {

// xoshiro256++ (Blackman and Vigna), started from any 64-bit seed.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  std::uint64_t next();
  // Uniform in [0, 1).
  double uniform();
  // Normal with mean 0 and deviation 1, by the ziggurat method (Marsaglia and Tsang).
  double normal();
  // Gamma with the given shape and scale 1, also by Marsaglia and Tsang.
  double gamma(double shape);

 private:
  std::uint64_t state_[4];
};

// Spreads the bits of a seed, so that neighbouring seeds give unrelated generators.
std::uint64_t mix_bits(std::uint64_t value);

}  // namespace tessera::bench
