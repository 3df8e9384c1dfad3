#include "cpu/combine.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/convert.hpp"
#include "cpu/threads.hpp"

namespace tessera::cpu {
namespace {

// A thread takes this many rows at a time ...
constexpr std::int64_t kRowsPerStep = 8;
// ... and below this many elements one thread is faster than waking another.
constexpr std::int64_t kElementsWorthThreads = 1 << 15;

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, f16>) {
    return to_f16(value);
  } else if constexpr (std::is_same_v<To, bf16>) {
    return to_bf16(value);
  } else {
    return value;
  }
}

template <class T>
const T* row_of(const ConstMatrixView& view, std::int64_t row) {
  return static_cast<const T*>(view.data) + row * view.row_stride;
}

template <class Element, class Sum>
void multiply_row(const CombinePart& part, std::int64_t row) {
  const Sum* gate = row_of<Sum>(part.gate, row);
  const Sum* up = row_of<Sum>(part.up, row);
  auto* c = static_cast<Element*>(part.c.data) + row * part.c.row_stride;
  for (std::int64_t col = 0; col < part.c.cols; ++col) {
    c[col * part.c.col_stride] = converted<Element>(gate[col] * up[col]);
  }
}

void multiply_row(const CombinePart& part, std::int64_t row) {
  switch (part.c.type) {
    case ElementType::f64:
      return multiply_row<double, double>(part, row);
    case ElementType::f32:
      return multiply_row<float, float>(part, row);
    case ElementType::f16:
      return multiply_row<f16, float>(part, row);
    case ElementType::bf16:
      return multiply_row<bf16, float>(part, row);
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::i32:
      return;  // have no gated pair
  }
}

}  // namespace

void multiply_elements(std::span<const CombinePart> parts, int threads) {
  std::vector<std::int64_t> ends;  // of each part's rows, counted through all parts
  ends.reserve(parts.size());
  std::int64_t rows = 0;
  std::int64_t elements = 0;
  for (const CombinePart& part : parts) {
    rows += part.c.rows;
    elements += part.c.rows * part.c.cols;
    ends.push_back(rows);
  }
  std::atomic<std::int64_t> next_row{0};
  auto work = [&] {
    for (;;) {
      const std::int64_t begin = next_row.fetch_add(kRowsPerStep, std::memory_order_relaxed);
      const std::int64_t end = std::min(rows, begin + kRowsPerStep);
      for (std::int64_t row = begin; row < end; ++row) {
        const auto at =
            static_cast<std::size_t>(std::ranges::upper_bound(ends, row) - ends.begin());
        multiply_row(parts[at], row - (ends[at] - parts[at].c.rows));
      }
      if (end == rows) return;
    }
  };
  const int wanted = threads > 0 ? threads : default_threads();
  on_threads(elements < kElementsWorthThreads ? 1 : wanted, work);
}

}  // namespace tessera::cpu
