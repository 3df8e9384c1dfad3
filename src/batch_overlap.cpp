#include "batch_overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/overlap.hpp"
#include "ragged_views.hpp"

namespace tessera {
namespace {

bool is_empty(const ConstBatchView& batch) {
  return batch.groups < 1 || batch.rows < 1 || batch.cols < 1 || batch.data == nullptr;
}

// From the first byte of one matrix to the end of its last one.
std::int64_t bytes_of_one(const ConstBatchView& batch) {
  return static_cast<std::int64_t>(extent_of(matrix_of(batch, 0)));
}

bool is_apart_from_itself(const ConstBatchView& batch) {
  return batch.groups < 2 || batch.group_stride * size_of(batch.type) >= bytes_of_one(batch);
}

bool are_apart(const ConstBatchView& p, const ConstBatchView& q) {
  const auto begin = [](const ConstBatchView& b) {
    return reinterpret_cast<std::uintptr_t>(b.data);
  };
  const auto end = [&](const ConstBatchView& b) {
    const std::int64_t last = (b.groups - 1) * b.group_stride * size_of(b.type);
    return begin(b) + static_cast<std::uintptr_t>(last + bytes_of_one(b));
  };
  return end(p) <= begin(q) || end(q) <= begin(p);
}

bool are_surely_apart(std::span<const NamedBatch> batches) {
  for (const NamedBatch& output : batches) {
    if (!output.is_output || is_empty(output.batch)) continue;
    if (!is_apart_from_itself(output.batch)) return false;
    for (const NamedBatch& other : batches) {
      if (&other == &output || is_empty(other.batch)) continue;
      if (!are_apart(output.batch, other.batch)) return false;
    }
  }
  return true;
}

}  // namespace

void check_batches_apart(std::span<const NamedBatch> batches) {
  if (are_surely_apart(batches)) return;
  std::vector<NamedView> views;
  for (const auto& [batch, name, is_output] : batches) {
    for (std::int64_t group = 0; group < batch.groups; ++group) {
      views.push_back({matrix_of(batch, group), name, static_cast<std::size_t>(group), is_output});
    }
  }
  check_no_overlap(views);
}

}  // namespace tessera
