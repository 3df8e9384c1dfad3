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

// Consecutive equal groups joined, in order. alpha = 0 needs no product, so k counts as 0 then.
inline std::vector<ShapeRun> shape_runs(const Problem& problem) {
  std::vector<ShapeRun> runs;
  for (GemmShape shape : problem.groups) {
    if (problem.alpha == 0) shape.k = 0;
    if (runs.empty() || runs.back().shape != shape) runs.push_back({shape, 0});
    ++runs.back().count;
  }
  return runs;
}

}  // namespace tessera
