// The shortest use: one product, planned and run in one call.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr std::int64_t m = 300, n = 200, k = 500;
  const std::vector<float> a(m * k, 0.5f);
  const std::vector<float> b(k * n, 2.0f);
  std::vector<float> c(m * n);

  // A view says how memory is to be read; nothing is copied. column_major(b.data(), k, n) would be
  // B in Fortran's order, row_major(b.data(), n, k).transposed() the transpose of an n×k matrix.
  tessera::gemm(1.0, tessera::row_major(a.data(), m, k), tessera::row_major(b.data(), k, n), 0.0,
                tessera::row_major(c.data(), m, n));

  std::printf("C(0, 0) = %g, C(%d, %d) = %g\n", c.front(), int{m} - 1, int{n} - 1, c.back());
  return c.front() == 500 && c.back() == 500 ? 0 : 1;
}
