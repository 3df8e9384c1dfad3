#include "core/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/error.hpp"

namespace tessera {
namespace {

// The bytes of a matrix as `count` runs of `length` bytes, `step` apart. A matrix with no unit
// stride is taken for the runs that enclose its elements.
struct Runs {
  std::uintptr_t begin;
  std::int64_t length;
  std::int64_t step;
  std::int64_t count;

  std::uintptr_t end() const {
    return begin + static_cast<std::uintptr_t>((count - 1) * step + length);
  }
};

Runs runs_of(const ConstMatrixView& view) {
  const std::int64_t size = size_of(view.type);
  const bool rows_outside = view.row_stride >= view.col_stride;
  const std::int64_t inner = rows_outside ? view.cols : view.rows;
  const std::int64_t outer = rows_outside ? view.rows : view.cols;
  const std::int64_t inner_stride = rows_outside ? view.col_stride : view.row_stride;
  const std::int64_t outer_stride = rows_outside ? view.row_stride : view.col_stride;
  // A stride that leads nowhere may be any number.
  const std::int64_t step = outer > 1 ? outer_stride * size : 0;
  return {reinterpret_cast<std::uintptr_t>(view.data), ((inner - 1) * inner_stride + 1) * size,
          step, outer};
}

bool intersect(const Runs& p, const Runs& q) {
  if (p.end() <= q.begin || q.end() <= p.begin) return false;
  std::int64_t i = 0;
  std::int64_t j = 0;
  while (i < p.count && j < q.count) {
    const std::uintptr_t p_begin = p.begin + static_cast<std::uintptr_t>(i * p.step);
    const std::uintptr_t q_begin = q.begin + static_cast<std::uintptr_t>(j * q.step);
    if (p_begin + static_cast<std::uintptr_t>(p.length) <= q_begin) {
      ++i;
    } else if (q_begin + static_cast<std::uintptr_t>(q.length) <= p_begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

struct Placed {
  Runs runs;
  const NamedView* source;
};

bool is_empty(const ConstMatrixView& view) {
  return view.rows == 0 || view.cols == 0 || view.data == nullptr;
}

}  // namespace

OutputRanges::Range OutputRanges::range_of(const ConstMatrixView& view) {
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  return {begin, begin + extent_of(view)};
}

void OutputRanges::add(const ConstMatrixView& output) {
  if (!is_empty(output)) ranges_.push_back(range_of(output));
}

bool OutputRanges::settle() {
  if (!std::ranges::is_sorted(ranges_, {}, &Range::begin)) {
    std::ranges::sort(ranges_, {}, &Range::begin);
  }
  const auto meet = [](const Range& p, const Range& q) { return q.begin < p.end; };
  return std::ranges::adjacent_find(ranges_, meet) == ranges_.end();
}

bool OutputRanges::meets(const ConstMatrixView& input) {
  if (is_empty(input) || ranges_.empty()) return false;
  const Range range = range_of(input);
  // The first output that ends behind the input's begin: the same as the last time, its neighbour,
  // or wherever.
  const auto is_first_behind = [&](std::size_t i) {
    return (i == ranges_.size() || ranges_[i].end > range.begin) &&
           (i == 0 || ranges_[i - 1].end <= range.begin);
  };
  if (!is_first_behind(near_)) {
    if (near_ < ranges_.size() && is_first_behind(near_ + 1)) {
      ++near_;
    } else {
      const auto found = std::ranges::upper_bound(ranges_, range.begin, {}, &Range::end);
      near_ = static_cast<std::size_t>(found - ranges_.begin());
    }
  }
  return near_ < ranges_.size() && ranges_[near_].begin < range.end;
}

void check_no_overlap(std::span<const NamedView> views) {
  std::vector<Placed> placed;
  placed.reserve(views.size());
  for (const NamedView& named : views) {
    if (!is_empty(named.view)) placed.push_back({runs_of(named.view), &named});
  }
  std::ranges::sort(placed, {}, [](const Placed& p) { return p.runs.begin; });

  // Sweep along the addresses; `open` holds the views that reach past the current one's begin.
  std::vector<const Placed*> open;
  for (const Placed& current : placed) {
    std::erase_if(open, [&](const Placed* p) { return p->runs.end() <= current.runs.begin; });
    for (const Placed* other : open) {
      if (!current.source->is_output && !other->source->is_output) continue;
      if (!intersect(other->runs, current.runs)) continue;
      const Placed& output = current.source->is_output ? current : *other;
      const Placed& input = current.source->is_output ? *other : current;
      throw Error(
          ErrorCode::invalid_argument,
          std::string(output.source->name) + " of group " + std::to_string(output.source->group),
          "share no memory with another operand",
          "memory that also belongs to " + std::string(input.source->name) + " of group " +
              std::to_string(input.source->group),
          "write to a matrix of its own, or copy the operand first");
    }
    open.push_back(&current);
  }
}

}  // namespace tessera
