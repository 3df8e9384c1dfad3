// Layers of experts: rows sorted by expert, each expert's times its own weight. What is measured of
// one, and what it is held against. The CPU's measuring is in cli/moe_bench.cpp, the GPU's in
// bench/cuda/moe.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/limits.hpp"
#include "tessera/element_type.hpp"

namespace tessera::bench {

// Of alternating repetitions, in seconds.
struct MoeTiming {
  std::string name;
  double median = 0;
  double lowest = 0;
  double spread = 0;  // between the quartiles, over the median
};

struct MoeResult {
  Case what;
  std::string plan;
  double predicted_seconds = 0;
  double flops = 0;
  double bytes = 0;                // each matrix once; of the weights only those that have rows
  std::vector<MoeTiming> timings;  // ours through the ragged door first, then the others
  std::string wrong;               // what is wrong with the result; empty if nothing
  double bound_seconds = 0;        // max(flops ÷ limit, bytes ÷ limit)
  bool is_bound_by_memory = false;

  double share_of_bound() const { return bound_seconds / timings.front().median; }
};

// Sets flops, bytes and the bound of a result whose `what` is set.
void set_bound(MoeResult& result, const GemmTypes& types, const ProcessorLimits& limits);

// A case as one layer: every group has the same n and k.
struct MoeShape {
  std::int64_t groups = 0;
  std::int64_t rows = 0;  // of all groups
  std::int64_t n = 0;
  std::int64_t k = 0;
};
// Throws Error(invalid_argument) where n or k differ.
MoeShape moe_shape(const Case& what);
// Where each group's rows begin, and where the last one's end.
std::vector<std::int32_t> moe_offsets(const Case& what);

// The lists' layers as skewed and as uniform sizes, with the same rows in all.
struct MoePair {
  std::string name;
  std::int64_t groups = 0;
  double skewed_over_uniform = 0;
};
std::vector<MoePair> moe_pairs(const std::vector<MoeResult>& results);

// Two measurements of the pointer array and of empty groups that are not layers.
struct MoeExtra {
  std::string name;  // "43 tiny products"
  std::vector<MoeTiming> timings;
};

}  // namespace tessera::bench
