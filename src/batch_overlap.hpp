// Whether an output shares memory with another matrix, of batches that only a device will cut.
// Views alone are looked at, and mostly at no more than two ranges of addresses for each batch.
#pragma once

#include <span>

#include "tessera/grouped.hpp"

namespace tessera {

struct NamedBatch {
  ConstBatchView batch;
  const char* name;  // for the error message
  bool is_output = false;
};

// Throws Error(invalid_argument) for the first output that shares a byte with another matrix, of
// its own batch or of another. The views have been checked (check_views in ragged.hpp).
void check_batches_apart(std::span<const NamedBatch> batches);

}  // namespace tessera
