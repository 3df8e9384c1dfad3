#include "plan/shape_runs.hpp"

#include <algorithm>
#include <bit>
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

// Equal to within `bits` significant bits; the sizes of a joined run are those of rounded products.
std::vector<ShapeRun> join_similar(std::vector<ShapeRun> runs, int bits) {
  for (ShapeRun& run : runs) {
    run.shape = {rounded(run.shape.m, bits), rounded(run.shape.n, bits),
                 rounded(run.shape.k, bits)};
  }
  std::ranges::sort(runs, {}, [](const ShapeRun& run) {
    return std::tuple(run.shape.m, run.shape.n, run.shape.k);
  });
  std::vector<ShapeRun> joined;
  for (const ShapeRun& run : runs) {
    if (joined.empty() || joined.back().shape != run.shape) {
      joined.push_back(run);
    } else {
      joined.back().count += run.count;
    }
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
