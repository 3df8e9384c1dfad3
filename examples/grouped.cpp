// Many products of different sizes in one call: eight experts that got different numbers of rows,
// one of them none. All their work lies on one line and is divided evenly among the workers, so the
// largest expert is not waited for.
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  constexpr std::int64_t n = 96, k = 64;
  const std::vector<std::int64_t> rows = {512, 33, 7, 0, 1, 128, 60, 3};

  std::vector<std::vector<float>> a, b, c;
  std::vector<tessera::Operands> groups;
  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    const std::int64_t m = rows[expert];
    a.emplace_back(m * k, static_cast<float>(expert + 1));
    b.emplace_back(k * n, 1.0f);
    c.emplace_back(m * n);
    groups.push_back({tessera::row_major(a.back().data(), m, k),
                      tessera::row_major(b.back().data(), k, n),
                      tessera::row_major(c.back().data(), m, n),
                      {}});
  }

  tessera::grouped_gemm(1.0, groups, 0.0);

  for (std::size_t expert = 0; expert < rows.size(); ++expert) {
    const float expected = static_cast<float>((expert + 1) * k);
    for (const float value : c[expert]) {
      if (value != expected) {
        std::printf("expert %zu: %g instead of %g\n", expert, value, expected);
        return 1;
      }
    }
  }
  std::printf("%zu experts done\n", rows.size());
  return 0;
}
