// The microkernel of small products, whose operands are read where they lie and stay in the nearest
// caches (direct.hpp). Against register_tile.hpp it saves what a short k does not pay for: rows are
// dealt to register tiles evenly, so that no tile has too few sums to hide the arithmetic's
// latency; a last vector that is at most half full is multiplied in a vector of half the width,
// which takes half as long where the units are that narrow (Zen 4); k is unrolled; alpha = 1 costs
// nothing. Every element is the same chain of multiply-adds along k as there, so the bits are the
// same.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// The operations on a vector of half the width; Ops itself where narrower ones are no faster.
template <class Ops>
struct HalfOf {
  using Type = Ops;
};

template <class Ops>
struct SmallTask {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row;  // strides in elements
  std::int64_t a_step;
  std::int64_t b_step;
  std::int64_t depth;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  int last;  // columns in the last vector
};

// A broadcast element for a vector of Last's kind, from one for the widest in its tile.
template <class Last, class Row>
auto narrowed(Row row) {
  if constexpr (requires { Last::narrow(row); }) {
    return Last::narrow(row);
  } else {
    return row;
  }
}

template <class Last, bool Masked, class Element, class Mask>
auto load_last(const Element* from, Mask mask) {
  if constexpr (Masked) {
    return Last::load_b(from, mask);
  } else {
    return Last::load_b(from);
  }
}

// Rows by Full vectors and one more of Last's kind, of which `task.last` columns where Masked.
template <class Ops, class Last, bool Masked, int Full, int Rows>
void small_micro(const SmallTask<Ops>& task) {
  using Widest = std::conditional_t<(Full > 0), Ops, Last>;
  constexpr int kLanes = Ops::kLanes;
  // Copies, which the stores to C cannot change.
  const auto* a = task.a;
  const auto* b = task.b;
  const std::int64_t a_row = task.a_row;
  const std::int64_t a_step = task.a_step;
  const std::int64_t b_step = task.b_step;
  const std::int64_t sum_stride = task.sum_stride;
  const auto mask = Last::mask(Masked ? task.last : Last::kLanes);

  typename Ops::Vec sum[Rows][Full + 1];
  typename Last::Vec last_sum[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Full; ++v) sum[r][v] = Ops::zero();
    last_sum[r] = Last::zero();
  }

#pragma GCC unroll 1
  for (std::int64_t k = task.depth; k > 0; --k, a += a_step, b += b_step) {
    typename Ops::BVec columns[Full + 1];
#pragma GCC unroll 2
    for (int v = 0; v < Full; ++v) columns[v] = Ops::load_b(b + v * kLanes);
    const auto last_columns = load_last<Last, Masked>(b + Full * kLanes, mask);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const auto row = Widest::broadcast(a + r * a_row);
      if constexpr (Full > 0) {
#pragma GCC unroll 2
        for (int v = 0; v < Full; ++v) sum[r][v] = Ops::multiply_add(sum[r][v], row, columns[v]);
      }
      last_sum[r] = Last::multiply_add(last_sum[r], narrowed<Last>(row), last_columns);
    }
  }

  if (task.alpha != 1) {
    const auto alpha = Ops::set(task.alpha);
    const auto last_alpha = Last::set(task.alpha);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Full; ++v) sum[r][v] = Ops::multiply(alpha, sum[r][v]);
      last_sum[r] = Last::multiply(last_alpha, last_sum[r]);
    }
  }
  auto* to = task.sum;
  if (task.beta != 0) {
    const auto beta = Ops::set(task.beta);
    const auto last_beta = Last::set(task.beta);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const auto* from = to + r * sum_stride;
#pragma GCC unroll 2
      for (int v = 0; v < Full; ++v) {
        sum[r][v] = Ops::scale_add(sum[r][v], beta, Ops::load(from + v * kLanes));
      }
      last_sum[r] = Last::scale_add(last_sum[r], last_beta, Last::load(from + Full * kLanes, mask));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, to += sum_stride) {
#pragma GCC unroll 2
    for (int v = 0; v < Full; ++v) Ops::store(to + v * kLanes, sum[r][v]);
    if constexpr (Masked) {
      Last::store(to + Full * kLanes, last_sum[r], mask);
    } else {
      Last::store(to + Full * kLanes, last_sum[r]);
    }
  }
}

// By rows − 1.
template <class Ops, class Last, bool Masked, int Full, int MostRows>
struct SmallTable {
  using Function = void (*)(const SmallTask<Ops>&);

  template <std::size_t... R>
  static constexpr std::array<Function, MostRows> all(std::index_sequence<R...>) {
    return {&small_micro<Ops, Last, Masked, Full, static_cast<int>(R) + 1>...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<MostRows>());
};

// All rows of one panel of columns, in tiles of nearly as many rows each.
template <class Ops, class Last, bool Masked, int Full, int MostRows>
void small_panel(SmallTask<Ops> task, std::int64_t rows) {
  // In 32 bits, because dividing takes as long as a tile of 4×4; small products fit.
  const auto count = static_cast<std::uint32_t>(rows);
  const std::uint32_t tiles = (count + MostRows - 1) / MostRows;
  const std::uint32_t each = count / tiles;
  const std::uint32_t longer = count % tiles;
  for (std::uint32_t tile = 0; tile < tiles; ++tile) {
    const std::uint32_t now = each + (tile < longer ? 1 : 0);
    SmallTable<Ops, Last, Masked, Full, MostRows>::kFunctions[now - 1](task);
    task.a += now * task.a_row;
    task.sum += now * task.sum_stride;
  }
}

// With three vectors a row, 32 registers hold 8 rows; and with 12 rows in place, their addresses no
// longer fit the registers: 32³ took 615 ns, and takes 577 (Zen 4, 2026-11).
template <int MR>
constexpr int kSmallRows = MR < 8 ? MR : 8;

template <class Ops, int MR>
void multiply_small_columns(const BlockTask& block) {
  constexpr int kMostRows = kSmallRows<MR>;
  using Half = typename HalfOf<Ops>::Type;
  constexpr bool kHasHalf = !std::is_same_v<Half, Ops>;
  constexpr int kLanes = Ops::kLanes;
  SmallTask<Ops> task;
  task.a = static_cast<const typename Ops::A*>(block.a.data);
  task.b = static_cast<const typename Ops::B*>(block.b.data);
  task.a_row = block.a.along_stride;
  task.a_step = block.a.depth_stride;
  // Packed panels are two vectors wide.
  const bool is_packed = !block.b.in_place;
  task.b_step = is_packed ? 2 * kLanes : block.b.depth_stride;
  task.depth = block.depth;
  task.sum = static_cast<typename Ops::Acc*>(block.sum);
  task.sum_stride = block.sum_stride;
  task.alpha = Ops::scalar(block.alpha);
  task.beta = Ops::scalar(block.beta);

  std::int64_t left = block.cols;
  // What the widest tile takes whole is left for the end.
  const int widest = 2 * kLanes + (kHasHalf && !is_packed ? Half::kLanes : 0);
  const std::int64_t panel =
      is_packed ? block.b.panel_bytes / static_cast<std::int64_t>(sizeof(typename Ops::B))
                : 2 * kLanes;
  for (; left > widest; left -= 2 * kLanes) {
    small_panel<Ops, Ops, false, 1, kMostRows>(task, block.rows);
    task.b += panel;
    task.sum += 2 * kLanes;
  }
  const int full = static_cast<int>((left - 1) / kLanes);
  task.last = static_cast<int>(left) - full * kLanes;
  const auto end = [&]<class Last, bool Masked, int Full>() {
    small_panel<Ops, Last, Masked, Full, kMostRows>(task, block.rows);
  };
  if constexpr (kHasHalf) {
    if (task.last <= Half::kLanes) {
      if (full == 0) return end.template operator()<Half, true, 0>();
      if (full == 1) return end.template operator()<Half, true, 1>();
      return end.template operator()<Half, true, 2>();
    }
  }
  const bool masked = task.last < kLanes;
  if (full == 0) {
    masked ? end.template operator()<Ops, true, 0>() : end.template operator()<Ops, false, 0>();
  } else {
    masked ? end.template operator()<Ops, true, 1>() : end.template operator()<Ops, false, 1>();
  }
}

// KernelCode::multiply_small. MR: rows that fit the registers with two vectors each.
template <class Ops, int MR>
void multiply_small(const BlockTask& block) {
  if (!block.sums_are_far) {
    multiply_small_columns<Ops, MR>(block);
    return;
  }
  constexpr std::int64_t kRows = kSmallRows<MR>;
  BlockTask part = block;
  const auto* a = static_cast<const typename Ops::A*>(block.a.data);
  auto* sum = static_cast<typename Ops::Acc*>(block.sum);
  for (std::int64_t row = 0; row < block.rows; row += kRows) {
    part.rows = block.rows - row < kRows ? block.rows - row : kRows;
    part.a.data = a + row * block.a.along_stride;
    part.sum = sum + row * block.sum_stride;
    multiply_small_columns<Ops, MR>(part);
  }
}

}  // namespace
}  // namespace tessera::cpu
