#include "plan/shape_runs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace tessera {
namespace {

// The nearest number that has no more than `bits` significant bits.
std::int64_t rounded(std::int64_t size, int bits) {
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
  if (width <= bits) return size;
  const int dropped = width - bits;
  const std::int64_t half = std::int64_t{1} << (dropped - 1);
  return (size + half) >> dropped << dropped;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> rounded(const GemmShape& shape, int bits) {
  return {rounded(shape.m, bits), rounded(shape.n, bits), rounded(shape.k, bits)};
}

std::int64_t mean(std::int64_t p, std::int64_t p_count, std::int64_t q, std::int64_t q_count) {
  const auto sum = static_cast<double>(p) * static_cast<double>(p_count) +
                   static_cast<double>(q) * static_cast<double>(q_count);
  return std::llround(sum / static_cast<double>(p_count + q_count));
}

// Products that are equal to within `bits` significant bits become one run of their mean sizes.
std::vector<ShapeRun> join_similar(const std::vector<ShapeRun>& runs, int bits) {
  struct Keyed {
    std::tuple<std::int64_t, std::int64_t, std::int64_t> key;
    ShapeRun run;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(runs.size());
  for (const ShapeRun& run : runs) keyed.push_back({rounded(run.shape, bits), run});
  std::ranges::sort(keyed, {}, &Keyed::key);

  std::vector<ShapeRun> joined;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    const ShapeRun& run = keyed[i].run;
    if (i == 0 || keyed[i].key != keyed[i - 1].key) {
      joined.push_back(run);
      continue;
    }
    ShapeRun& last = joined.back();
    last.shape = {mean(last.shape.m, last.count, run.shape.m, run.count),
                  mean(last.shape.n, last.count, run.shape.n, run.count),
                  mean(last.shape.k, last.count, run.shape.k, run.count)};
    last.count += run.count;
  }
  return joined;
}

}  // namespace

std::vector<ShapeRun> shape_runs(const Problem& problem) {
  std::vector<ShapeRun> runs;
  for (GemmShape shape : problem.groups) {
    if (problem.alpha == 0) shape.k = 0;
    if (runs.empty() || runs.back().shape != shape) runs.push_back({shape, 0});
    ++runs.back().count;
  }
  for (int bits = 4; runs.size() > kMostRuns && bits > 0; --bits) runs = join_similar(runs, bits);
  return runs;
}

}  // namespace tessera
