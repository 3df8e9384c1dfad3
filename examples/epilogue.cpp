// A layer in one call: C ← relu(A·B + bias), with bfloat16 operands and a float32 result. The
// epilogue runs while a tile is still in registers, so bias and activation cost no pass over C.
#include <tessera/tessera.hpp>

#include <bit>
#include <cstdio>
#include <vector>

namespace {

// bfloat16 is the upper half of a float; these values need no rounding.
tessera::bf16 to_bf16(float value) {
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
}

}  // namespace

int main() {
  constexpr std::int64_t m = 40, n = 70, k = 128;
  const std::vector<tessera::bf16> a(m * k, to_bf16(0.25f));
  const std::vector<tessera::bf16> b(k * n, to_bf16(1.0f));
  std::vector<float> bias(n);
  for (std::int64_t j = 0; j < n; ++j) bias[j] = j % 2 == 0 ? 1.0f : -100.0f;
  std::vector<float> c(m * n);

  const tessera::Epilogue epilogue{tessera::BiasAxis::column, tessera::Activation::relu};
  tessera::gemm(1.0, tessera::row_major(a.data(), m, k), tessera::row_major(b.data(), k, n), 0.0,
                tessera::row_major(c.data(), m, n), epilogue,
                {bias.data(), n, 1, tessera::ElementType::f32});

  std::printf("even columns %g, odd columns %g\n", c[0], c[1]);
  return c[0] == 33 && c[1] == 0 ? 0 : 1;
}
