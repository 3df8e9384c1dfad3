// Weights that are packed once, and multiplied by inputs of any number of rows.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr std::int64_t n = 512, k = 1024;
  tessera::PackedMatrix weights;
  {
    const std::vector<float> b(k * n, 0.5f);
    weights = tessera::pack_b(tessera::row_major(b.data(), k, n), 16);
  }  // what was packed does not need it any more
  std::printf("packed for %s, %d rows of B at a time, in %zu bytes\n", weights.kernel().c_str(),
              weights.block_k(), weights.bytes());

  const tessera::ConstMatrixView b =
      tessera::row_major<float>(static_cast<const float*>(nullptr), k, n);
  for (const std::int64_t m : {1, 16, 100}) {
    const std::vector<float> a(static_cast<std::size_t>(m * k), 2.0f);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    tessera::Operands product{tessera::row_major(a.data(), m, k), b,
                              tessera::row_major(c.data(), m, n)};
    product.packed_b = &weights;
    tessera::gemm(1, product, 0);
    if (c.front() != static_cast<float>(k) || c.back() != c.front()) return 1;
  }
  std::printf("products of 1, 16 and 100 rows\n");
  return 0;
}
