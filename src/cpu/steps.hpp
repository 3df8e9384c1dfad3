// How a block is walked along k where B lies in place: by wide tiles, as streams, or along C's
// rows.
#pragma once

#include <cstdint>

#include "cpu/product.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

struct Step {
  // So much of it is multiplied before the sums go to memory; less than a block's depth only where
  // a large B streams by in place. The bits of C depend on it.
  std::int64_t depth = 0;
  int streams = 0;               // BlockTask's
  int rows_ahead = 0;            // BlockTask's
  bool goes_along_rows = false;  // of C (BlockTask::sums_are_far)
  bool fetches_sums = false;     // BlockTask's
};
Step step_of(const Plan& plan, const Product& product);

// Whether several workers write parts of the same rows of C.
bool shares_rows_of_c(const Plan& plan, const Product& product);

// Whether the processor looks far enough ahead by itself in B, beside so many rows.
bool runs_ahead(const Product& product, std::int64_t rows);

}  // namespace tessera::cpu
