#include "bench/corpus.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/generator.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

constexpr int kLog256Triples = 1000;
constexpr std::int64_t kMostAwkwardMultiplyAdds = 20'000'000;

Case dense_case(std::string_view kind, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
          std::string(kind),
          {{m, n, k}}};
}

std::vector<Case> log256(int count, std::uint64_t seed) {
  std::vector<std::int64_t> values;
  constexpr int kPoints = 1000;
  for (int i = 0; i < kPoints; ++i) {
    const double u = 8 + 5.0 * i / (kPoints - 1);
    const auto value = static_cast<std::int64_t>(std::lround(std::exp2(u) / 256)) * 256;
    if (values.empty() || values.back() != value) values.push_back(value);
  }
  const std::size_t base = values.size();
  std::vector<std::size_t> triples(base * base * base);
  std::iota(triples.begin(), triples.end(), std::size_t{0});

  // The first steps of a Fisher–Yates shuffle are a draw without replacement.
  Generator random(seed);
  std::vector<Case> cases;
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(count, kLog256Triples)); ++i) {
    const auto left = static_cast<double>(triples.size() - i);
    std::swap(triples[i], triples[i + static_cast<std::size_t>(random.uniform() * left)]);
    const std::size_t t = triples[i];
    cases.push_back(
        dense_case("log256", values[t / base / base], values[t / base % base], values[t % base]));
  }
  return cases;
}

std::vector<Case> loguniform(int count, std::uint64_t seed) {
  Generator random(seed);
  const auto dimension = [&] {
    return static_cast<std::int64_t>(std::exp2(7 + 6 * random.uniform())) / 8 * 8;
  };
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const std::int64_t m = dimension();
    const std::int64_t n = dimension();
    cases.push_back(dense_case("loguniform", m, n, dimension()));
  }
  return cases;
}

std::vector<Case> awkward(int count, std::uint64_t seed) {
  Generator random(seed);
  const auto dimension = [&] {
    return static_cast<std::int64_t>(std::exp2(1 + 10.5 * random.uniform()));
  };
  std::vector<Case> cases;
  while (cases.size() < static_cast<std::size_t>(count)) {
    const std::int64_t m = dimension();
    const std::int64_t n = dimension();
    const std::int64_t k = dimension();
    if (m * n * k <= kMostAwkwardMultiplyAdds) cases.push_back(dense_case("awkward", m, n, k));
  }
  return cases;
}

}  // namespace

std::vector<std::string> corpus_names() {
  return {"log256", "loguniform", "awkward"};
}

std::vector<Case> corpus(std::string_view name, int count, std::uint64_t seed) {
  if (count < 0) {
    throw Error(ErrorCode::invalid_argument, "count", "be at least 0", std::to_string(count),
                "pass how many products to draw");
  }
  if (name == "log256") return log256(count, seed);
  if (name == "loguniform") return loguniform(count, seed);
  if (name == "awkward") return awkward(count, seed);
  throw Error(ErrorCode::invalid_argument, "corpus", "be log256, loguniform or awkward",
              std::string(name), "pass one of these, or a CSV list");
}

}  // namespace tessera::bench
