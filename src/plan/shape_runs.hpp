// A problem's groups as runs of equal products: a batch of a thousand is one run, and costs as much
// to plan as a single product.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera {

struct ShapeRun {
  GemmShape shape;
  std::int64_t count = 0;
};

// More runs than this and similar products are joined, for the time of planning grows with them.
inline constexpr std::size_t kMostRuns = 32;

// Consecutive equal groups joined, in order. alpha = 0 needs no product, so k counts as 0 then. Of
// a problem with more than kMostRuns runs, products of nearly the same size form one run, wherever
// they stand: good enough to predict a time, no more.
std::vector<ShapeRun> shape_runs(const Problem& problem);

}  // namespace tessera
