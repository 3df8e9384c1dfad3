// Uses the installed library as a stranger would: multiplies, and catches its error across the
// border of the library.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<float> b = {1, 0, 0, 1, 1, 1};
  std::vector<float> c(4, -1.0f);
  tessera::gemm(1.0, tessera::row_major(a.data(), 2, 3), tessera::row_major(b.data(), 3, 2), 0.0,
                tessera::row_major(c.data(), 2, 2));
  if (c != std::vector<float>{4, 5, 10, 11}) {
    std::printf("wrong product: %g %g %g %g\n", c[0], c[1], c[2], c[3]);
    return 1;
  }
  try {
    tessera::gemm(1.0, tessera::row_major(a.data(), 2, 3), tessera::row_major(b.data(), 2, 3), 0.0,
                  tessera::row_major(c.data(), 2, 2));
  } catch (const tessera::Error& error) {
    std::printf("tessera %s; caught as it should be: %s\n", tessera::version(), error.what());
    return error.code() == tessera::ErrorCode::invalid_argument ? 0 : 1;
  }
  std::printf("mismatched shapes went unnoticed\n");
  return 1;
}
