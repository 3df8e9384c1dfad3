// Tall register tiles: 12 to 24 rows by a single vector of columns, where C, or its last panel, has
// no more of these. Multiply-adds load the rows' elements themselves, so that a step of k is 24 of
// those and the load of B's vector; tiles of fewer rows by more vectors would leave lanes empty, or
// take as many broadcasts. A's rows are read where they lie, along k or side by side, B where it
// lies or packed. Every element is the same chain of multiply-adds along k as in register_tile.hpp,
// so the bits are the same.
//
// Emerald Rapids, one thread, 2026-11, f32, operands in rows, the time by 12 rows, or 8, over the
// time so, with the core to itself and beside a busy hardware thread: 705×9×157 1.17, 1.45,
// 308×15×180 1.15, 1.43, 118×16×2631 1.19, 1.52, 1000×16×1000 1.17, 1.31, 1387×16×262 1.15, 1.34,
// 100×16×100 1.13, 1.38, 5000×16×64 1.17, 1.34. AMD's processors were not measured.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/orientation_rule.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/register_tile.hpp"

namespace tessera::cpu {
namespace {

constexpr int kTallestTile = 24;
constexpr int kShortestTallTile = 12;  // of what is cut evenly
static_assert(kLeastRowsOfTall >= kShortestTallTile && kTallestTile + 1 >= 2 * kShortestTallTile);

// Steps of k that go together where rows lie along it. Each row's address is worked out once for
// all of them: an index in the multiply-adds' addresses would make two operations of each.
constexpr int kTallSteps = 4;

template <class Ops>
struct TallTask : TaskInPlace<Ops> {
  typename Ops::Mask mask;  // of the columns
  bool is_masked;           // B has no more of them
};

// Whether there are registers for it, and multiply-adds that load. Elements that are widened on the
// way have not been measured.
template <class Ops, int MR>
constexpr bool kHasTall =
    !is_narrow_tile(MR) && std::is_same_v<typename Ops::B, typename Ops::Acc> && requires {
  Ops::multiply_add_element;
};

// Strides of A in elements, by which its rows lie side by side, or along k and not in one another's
// way (core/orientation_rule.hpp).
template <class Ops>
bool suits_tall(std::int64_t rows, std::int64_t a_row, std::int64_t a_step) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(typename Ops::A));
  const bool lie_well = a_row == 1 || (a_step == 1 && !rows_collide(a_row * kSize));
  return rows >= kLeastRowsOfTall && lie_well && has_two_units();
}

// Where a tile's rows lie: those of eight are reached from the first one's address by multiples of
// four strides. Rows that lie side by side are all near the first.
template <class A, int Rows, bool Across>
class TallRows {
 public:
  [[gnu::always_inline]] TallRows(const A* begin, std::int64_t row, std::int64_t step)
      : step_(step), one_(row * static_cast<std::int64_t>(sizeof(A))) {
#pragma GCC unroll 3
    for (int i = 0; i < kFirsts; ++i) first_[i] = begin + kEight * i * row;
    // Each kept from the compiler, which would work them out in a vector.
    three_ = 2 * one_ + one_;
    asm("" : "+r"(three_));
    five_ = 4 * one_ + one_;
    asm("" : "+r"(five_));
    seven_ = 4 * one_ + three_;
    asm("" : "+r"(seven_));
  }

  template <int Row>
  [[gnu::always_inline]] const A* at() const {
    if constexpr (Across) return first_[0] + Row;
    constexpr int kOfEight = Row % kEight;
    const std::int64_t to = kOfEight == 7       ? seven_
                            : kOfEight == 5     ? five_
                            : kOfEight % 3 == 0 ? kOfEight / 3 * three_
                                                : kOfEight * one_;
    const auto* row = reinterpret_cast<const A*>(
        reinterpret_cast<const unsigned char*>(first_[Row / kEight]) + to);
    asm("" : "+r"(row));
    return row;
  }
  [[gnu::always_inline]] void advance(int steps) {
#pragma GCC unroll 3
    for (int i = 0; i < kFirsts; ++i) first_[i] += Across ? steps * step_ : steps;
  }

 private:
  static constexpr int kEight = 8;
  static constexpr int kFirsts = Across ? 1 : (Rows + kEight - 1) / kEight;
  const A* first_[kFirsts];
  std::int64_t step_;
  std::int64_t one_;
  std::int64_t three_;
  std::int64_t five_;
  std::int64_t seven_;
};

// Some steps of k of the rows from `First` on, one step after another: rows enough that
// multiply-adds need not wait for each other, and few enough for their addresses.
template <class Ops, int First, int Rows, bool Across, int Steps, std::size_t... R>
[[gnu::always_inline]] inline void add_rows(typename Ops::Vec (&sum)[Rows][1],
                                            const TallRows<typename Ops::A, Rows, Across>& rows,
                                            const typename Ops::BVec (&columns)[Steps],
                                            std::index_sequence<R...>) {
  const typename Ops::A* const row[] = {rows.template at<First + static_cast<int>(R)>()...};
#pragma GCC unroll 4
  for (int k = 0; k < Steps; ++k) {
    ((sum[First + R][0] = Ops::multiply_add_element(sum[First + R][0], row[R] + k, columns[k])),
     ...);
  }
}

template <class Ops, int Rows, bool Across, bool Masked>
void tall_tile(const TallTask<Ops>& task) {
  constexpr int kTogether = 4;
  constexpr int kSteps = Across ? 1 : kTallSteps;
  TallRows<typename Ops::A, Rows, Across> rows(task.a, task.a_row, task.a_step);
  // Copies, which the stores to C cannot change.
  const auto* b = task.b;
  const std::int64_t b_step = task.b_step;
  const typename Ops::Mask mask = task.mask;

  typename Ops::Vec sum[Rows][1];
#pragma GCC unroll 24
  for (int r = 0; r < Rows; ++r) sum[r][0] = Ops::zero();
  const auto add_steps = [&]<int Steps>() __attribute__((always_inline)) {
    typename Ops::BVec columns[Steps];
#pragma GCC unroll 4
    for (int k = 0; k < Steps; ++k, b += b_step) {
      columns[k] = Masked ? Ops::load_b(b, mask) : Ops::load_b(b);
    }
    const auto add_from = [&]<int First>() __attribute__((always_inline)) {
      constexpr int kSome = Rows - First < kTogether ? Rows - First : kTogether;
      add_rows<Ops, First>(sum, rows, columns, std::make_index_sequence<kSome>());
    };
    const auto add_all = [&]<std::size_t... I>(std::index_sequence<I...>)
        __attribute__((always_inline)) {
      (add_from.template operator()<static_cast<int>(I) * kTogether>(), ...);
    };
    add_all(std::make_index_sequence<(Rows + kTogether - 1) / kTogether>());
    rows.advance(Steps);
  };
  std::int64_t left = task.depth;
#pragma GCC unroll 1
  for (; left >= kSteps; left -= kSteps) add_steps.template operator()<kSteps>();
#pragma GCC unroll 1
  for (; left > 0; --left) add_steps.template operator()<1>();
  store_sums<Ops>(sum, task.alpha, task.beta, mask, task.sum, task.sum_stride);
}

// By rows, from kShortestTallTile on.
template <class Ops, bool Across, bool Masked>
struct TallTable {
  static constexpr int kSizes = kTallestTile - kShortestTallTile + 1;
  using Function = void (*)(const TallTask<Ops>&);

  template <std::size_t... I>
  static constexpr std::array<Function, kSizes> all(std::index_sequence<I...>) {
    return {&tall_tile<Ops, kShortestTallTile + static_cast<int>(I), Across, Masked>...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<kSizes>());
};

// All rows, kLeastRowsOfTall or more, in tiles of nearly as many each. The sums of each go to C,
// one tile's after another's, or with `sums_stay` false all to the same place; `done(row, rows,
// sum, stride)` may take them.
template <class Ops, class Done>
[[gnu::always_inline]] inline void multiply_tall(TallTask<Ops> task, std::int64_t rows,
                                                 bool sums_stay, Done done) {
  static constexpr std::array tables = {
      TallTable<Ops, false, false>::kFunctions, TallTable<Ops, false, true>::kFunctions,
      TallTable<Ops, true, false>::kFunctions, TallTable<Ops, true, true>::kFunctions};
  const auto& table = tables[(task.a_step != 1 ? 2 : 0) + (task.is_masked ? 1 : 0)];
  const std::int64_t tiles = (rows + kTallestTile - 1) / kTallestTile;
  const std::int64_t least = rows / tiles;
  const std::int64_t taller = rows % tiles;
  std::int64_t row = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t some = least + (tile < taller ? 1 : 0);
    table[static_cast<std::size_t>(some - kShortestTallTile)](task);
    done(row, some, task.sum, task.sum_stride);
    row += some;
    task.a += some * task.a_row;
    if (sums_stay) task.sum += some * task.sum_stride;
  }
}

}  // namespace
}  // namespace tessera::cpu
