// The microkernel of small products and of others that stay near (core/near_rule.hpp), whose
// operands are read where they lie. Against register_tile.hpp it saves what a short k does not pay
// for: rows are dealt to register tiles evenly, so that no tile has too few sums to hide the
// arithmetic's latency; a last vector that is at most half full is multiplied in a vector of half
// the width, which takes half as long where the units are that narrow (Zen 4); alpha = 1 costs
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

#include "core/in_place_rule.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/kernel.hpp"
#include "cpu/tall_tiles.hpp"

namespace tessera::cpu {
namespace {

// The operations on a vector of half the width; Ops itself where narrower ones are no faster.
template <class Ops>
struct HalfOf {
  using Type = Ops;
};

template <class Ops>
struct SmallTask : TaskInPlace<Ops> {
  int last = 0;  // columns in the last vector
  // From one register tile of a run to the next, of more than one.
  std::int64_t a_next;
  std::int64_t b_next;
  std::int64_t sum_next;
  // How far behind B's lines those lie that a run fetches, for each register tile the next ones.
  std::int64_t fetched;
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

// What a register tile fetches: a line of the next panel's rows of B in every step of k, or its own
// sums before the first.
enum class Fetching { nothing, next_rows, sums };

// A run of `count` register tiles of Rows by Full vectors and one more of Last's kind, of which
// `task.last` columns where Masked. A function called for each took as long as one with k = 2: Zen
// 3, one thread, 2026-11, the time so over the time by runs: f32 1647×997×2 1.6 to 1.9,
// 2820×922×4 1.3 to 1.5, 2821×64×2 1.24, 500×300×12 1.10, 1071×1210×16 1.13, 128³ 1.02.
template <class Ops, class Last, bool Masked, int Full, int Rows, Fetching What>
void small_run(const SmallTask<Ops>& task, std::int64_t count) {
  using Widest = std::conditional_t<(Full > 0), Ops, Last>;
  constexpr int kLanes = Ops::kLanes;
  // Copies, which the stores to C cannot change.
  const auto* first_a = task.a;
  const auto* first_b = task.b;
  auto* first_sum = task.sum;
  const std::int64_t a_row = task.a_row;
  const std::int64_t a_step = task.a_step;
  const std::int64_t b_step = task.b_step;
  const std::int64_t sum_stride = task.sum_stride;
  constexpr bool kFetchesRows = What == Fetching::next_rows;
  [[maybe_unused]] std::int64_t fetched = 0;
  if constexpr (kFetchesRows) fetched = task.fetched;
  const auto mask = Last::mask(Masked ? task.last : Last::kLanes);

  for (;;) {
    if constexpr (What == Fetching::sums) {
      fetch_sums<Ops>(first_sum, sum_stride, Rows, (Full + 1) * kLanes);
    }
    typename Ops::Vec sum[Rows][Full + 1];
    typename Last::Vec last_sum[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < Full; ++v) sum[r][v] = Ops::zero();
      last_sum[r] = Last::zero();
    }

    const auto* a = first_a;
    const auto* b = first_b;
#pragma GCC unroll 1
    for (std::int64_t k = task.depth; k > 0; --k, a += a_step, b += b_step) {
      if constexpr (kFetchesRows) __builtin_prefetch(b + fetched, 0, 2);
      typename Ops::BVec columns[Full + 1];
#pragma GCC unroll 3
      for (int v = 0; v < Full; ++v) columns[v] = Ops::load_b(b + v * kLanes);
      const auto last_columns = load_last<Last, Masked>(b + Full * kLanes, mask);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const auto row = Widest::broadcast(a + r * a_row);
        if constexpr (Full > 0) {
#pragma GCC unroll 3
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
#pragma GCC unroll 3
        for (int v = 0; v < Full; ++v) sum[r][v] = Ops::multiply(alpha, sum[r][v]);
        last_sum[r] = Last::multiply(last_alpha, last_sum[r]);
      }
    }
    auto* to = first_sum;
    if (task.beta != 0) {
      const auto beta = Ops::set(task.beta);
      const auto last_beta = Last::set(task.beta);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const auto* from = to + r * sum_stride;
#pragma GCC unroll 3
        for (int v = 0; v < Full; ++v) {
          sum[r][v] = Ops::scale_add(sum[r][v], beta, Ops::load(from + v * kLanes));
        }
        last_sum[r] =
            Last::scale_add(last_sum[r], last_beta, Last::load(from + Full * kLanes, mask));
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r, to += sum_stride) {
#pragma GCC unroll 3
      for (int v = 0; v < Full; ++v) Ops::store(to + v * kLanes, sum[r][v]);
      if constexpr (Masked) {
        Last::store(to + Full * kLanes, last_sum[r], mask);
      } else {
        Last::store(to + Full * kLanes, last_sum[r]);
      }
    }
    if (--count == 0) return;
    first_a += task.a_next;
    first_b += task.b_next;
    first_sum += task.sum_next;
    if constexpr (kFetchesRows) fetched += kLanes;
  }
}

// By rows − 1.
template <class Ops, class Last, bool Masked, int Full, int MostRows,
          Fetching What = Fetching::nothing>
struct SmallTable {
  using Function = void (*)(const SmallTask<Ops>&, std::int64_t);

  template <std::size_t... R>
  static constexpr std::array<Function, MostRows> all(std::index_sequence<R...>) {
    return {&small_run<Ops, Last, Masked, Full, static_cast<int>(R) + 1, What>...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<MostRows>());
};

// All rows of one panel of columns, in tiles of nearly as many rows each. A task is not copied:
// reading it whole has to wait for the pieces that it was written in.
//
// Where it fetches the next panel's rows, each of the first tiles does one line of every row. With
// caches flushed before each call that takes 5 % less of f32 64×128×1000 and 64×256×512, and where
// all is near no more time (Emerald Rapids, one thread, 2026-11).
template <class Ops, class Last, bool Masked, int Full, int MostRows, bool Fetches = false>
void small_panel(SmallTask<Ops>& task, std::int64_t rows) {
  using Table = SmallTable<Ops, Last, Masked, Full, MostRows>;
  if (rows <= MostRows) return Table::kFunctions[rows - 1](task, 1);
  // In 32 bits, because dividing takes as long as a tile of 4×4; small products fit.
  const auto all = static_cast<std::uint32_t>(rows);
  const std::uint32_t tiles = (all + MostRows - 1) / MostRows;
  const std::uint32_t each = all / tiles;
  const std::uint32_t longer = all % tiles;
  const auto* const first_a = task.a;
  auto* const first_sum = task.sum;
  task.b_next = 0;
  std::int64_t to_fetch = Fetches ? Full + 1 : 0;  // lines, of each row
  const auto run = [&](std::int64_t of_each, std::int64_t count) {
    task.a_next = of_each * task.a_row;
    task.sum_next = of_each * task.sum_stride;
    if constexpr (Fetches) {
      using Ahead = SmallTable<Ops, Last, Masked, Full, MostRows, Fetching::next_rows>;
      const std::int64_t now = count < to_fetch ? count : to_fetch;
      if (now > 0) Ahead::kFunctions[of_each - 1](task, now);
      task.a += now * task.a_next;
      task.sum += now * task.sum_next;
      task.fetched += now * Ops::kLanes;
      to_fetch -= now;
      count -= now;
      if (count == 0) return;
    }
    Table::kFunctions[of_each - 1](task, count);
    task.a += count * task.a_next;
    task.sum += count * task.sum_next;
  };
  if (longer > 0) run(each + 1, longer);
  run(each, tiles - longer);
  task.a = first_a;
  task.sum = first_sum;
}

// With three vectors a row, 32 registers hold 8 rows; and with 12 rows in place, their addresses no
// longer fit the registers: 32³ took 615 ns, and takes 577 (Zen 4, 2026-11).
template <int MR>
constexpr int kSmallRows = MR < 8 ? MR : 8;

// A block of C in runs of tiles, down its columns or along its rows.
template <class Ops, int MR>
class SmallBlock {
 public:
  explicit SmallBlock(const BlockTask& block)
      : rows_(block.rows), fetches_sums_(block.fetches_sums) {
    task_.a = static_cast<const typename Ops::A*>(block.a.data);
    task_.b = static_cast<const typename Ops::B*>(block.b.data);
    task_.a_row = block.a.along_stride;
    task_.a_step = block.a.depth_stride;
    // Packed panels are two vectors wide.
    const bool is_packed = !block.b.in_place;
    task_.b_step = is_packed ? kWidth : block.b.depth_stride;
    task_.depth = block.depth;
    task_.sum = static_cast<typename Ops::Acc*>(block.sum);
    task_.sum_stride = block.sum_stride;
    task_.alpha = Ops::scalar(block.alpha);
    task_.beta = Ops::scalar(block.beta);
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(typename Ops::B));
    panel_ = is_packed ? block.b.panel_bytes / kBytes : kWidth;
    if (kHasWide && block.cols >= kWide && !is_packed && !block.sums_are_far && has_two_units()) {
      wide_ = block.cols / kWide;
    }
    const std::int64_t cols = block.cols - wide_ * kWide;
    // What the widest tile takes whole is left for the end.
    const std::int64_t widest = kWidth + (kHasHalf && !is_packed ? Half::kLanes : 0);
    whole_ = cols > widest ? (cols - widest + kWidth - 1) / kWidth : 0;
    const std::int64_t left = cols - whole_ * kWidth;
    if (left == 0) return;
    full_ = static_cast<int>((left - 1) / kLanes);
    task_.last = static_cast<int>(left) - full_ * kLanes;
  }

  void down_columns() {
    if constexpr (kHasWide) {
      for (std::int64_t panel = 1; panel <= wide_; ++panel) {
        task_.fetched = kWide;
        if (panel < wide_ && task_.depth > kNearDepth) {
          small_panel<Ops, Ops, false, 3, kWideRows, true>(task_, rows_);
        } else {
          small_panel<Ops, Ops, false, 3, kWideRows>(task_, rows_);
        }
        task_.b += kWide;
        task_.sum += kWide;
      }
    }
    for (std::int64_t panel = 0; panel < whole_; ++panel) {
      small_panel<Ops, Ops, false, 1, kMostRows>(task_, rows_);
      task_.b += panel_;
      task_.sum += kWidth;
    }
    if (task_.last > 0) end(rows_);
  }

  // A large C is written row by row of register tiles, from end to end.
  void along_rows() {
    const auto* const first_b = task_.b;
    auto* sum = task_.sum;
    std::int64_t now = 0;
    for (std::int64_t row = 0; row < rows_; row += now) {
      now = rows_ - row < kMostRows ? rows_ - row : kMostRows;
      task_.b = first_b;
      task_.sum = sum;
      if (whole_ > 0) {
        task_.a_next = 0;
        task_.b_next = panel_;
        task_.sum_next = kWidth;
        whole_tiles(now);
        task_.b += whole_ * panel_;
        task_.sum += whole_ * kWidth;
      }
      if (fetches_sums_) {
        fetch_sums<Ops>(task_.sum, task_.sum_stride, now, full_ * kLanes + task_.last);
      }
      end(now);
      task_.a += now * task_.a_row;
      sum += now * task_.sum_stride;
    }
  }

 private:
  static constexpr int kMostRows = kSmallRows<MR>;
  using Half = typename HalfOf<Ops>::Type;
  static constexpr bool kHasHalf = !std::is_same_v<Half, Ops>;
  static constexpr int kLanes = Ops::kLanes;
  static constexpr std::int64_t kWidth = 2 * kLanes;
  // Panels of four vectors by six rows come first, where 32 registers hold them: a step of k takes
  // 37 instructions for 24 multiply-adds, not 29 for 16. Emerald Rapids, one thread, 2026-11, the
  // time by two vectors and eight rows over the time so: f32 64³ 1.02 and, beside a busy hardware
  // thread, 1.1, 24×64×64 1.1, 96³ 1.02 to 1.04, f64 64³ 1.01 to 1.04; two threads f32 64³ 1.1,
  // 128³ 1.1. AMD's processors were not measured.
  static constexpr bool kHasWide = !is_narrow_tile(MR);
  static constexpr std::int64_t kWide = 4 * kLanes;
  static constexpr int kWideRows = 6;
  // Panels of a k so short are near.
  static constexpr std::int64_t kNearDepth = 128;

  // All of a row of them.
  void whole_tiles(std::int64_t rows) {
    if constexpr (!is_narrow_tile(MR)) {
      if (fetches_sums_) {
        SmallTable<Ops, Ops, false, 1, kMostRows, Fetching::sums>::kFunctions[rows - 1](task_,
                                                                                        whole_);
        return;
      }
    }
    SmallTable<Ops, Ops, false, 1, kMostRows>::kFunctions[rows - 1](task_, whole_);
  }

  // Whether the last columns are too few, and k too short, to pay for what surrounds a tall tile.
  // Granite Rapids, one thread, 2026-11-30, the time by tall tiles over the time by 8 rows, 40
  // to 760 rows by up to half a vector, k of 3, 8, 16, 24, 48: in rows f32 1.13 to 1.42, 1.19
  // to 1.33, 1.22 to 1.27, 1.0 to 1.3, 1.0 to 1.2, f64 of 3 and 4 columns 1.2 to 1.4, 1.2 to 1.3,
  // 1.2, 1.2, 1.15 to 1.2, A across 1.1 to 1.2 up to 24; behind wide panels 0.98 to 1.06. Emerald
  // Rapids, cores of a host that others use: in rows k of 3 and 8 1.0 to 1.4, with 16 0.87 to 1.06,
  // A across 0.7 to 1.2. Others of Intel's were not measured.
  bool had_better_be_short() const {
    constexpr std::int64_t kFewSteps = 8;
    constexpr std::int64_t kFewStepsWithoutLoads = 48;
    if (2 * task_.last > kLanes || task_.depth > kFewStepsWithoutLoads) return false;
    return (task_.a_row != 1 && task_.depth <= kFewSteps) || !has_spare_loads();
  }

  // The last columns of so many rows.
  void end(std::int64_t rows) {
    if constexpr (kHasTall<Ops, MR>) {
      const bool may_be_tall = full_ == 0 && suits_tall<Ops>(rows, task_.a_row, task_.a_step);
      if (may_be_tall && !had_better_be_short()) return tall(rows);
    }
    const auto panel = [&]<class Last, bool Masked, int Full>() {
      small_panel<Ops, Last, Masked, Full, kMostRows>(task_, rows);
    };
    if constexpr (kHasHalf) {
      if (task_.last <= Half::kLanes) {
        if (full_ == 0) return panel.template operator()<Half, true, 0>();
        if (full_ == 1) return panel.template operator()<Half, true, 1>();
        return panel.template operator()<Half, true, 2>();
      }
    }
    const bool masked = task_.last < kLanes;
    if (full_ == 0) {
      masked ? panel.template operator()<Ops, true, 0>()
             : panel.template operator()<Ops, false, 0>();
    } else {
      masked ? panel.template operator()<Ops, true, 1>()
             : panel.template operator()<Ops, false, 1>();
    }
  }

  // The last columns, a vector of them at most, of so many rows.
  void tall(std::int64_t rows) {
    const TallTask<Ops> tall{task_, Ops::mask(task_.last), task_.last < kLanes};
    multiply_tall(tall, rows, true, [](auto...) {});
  }

  SmallTask<Ops> task_;
  std::int64_t rows_;
  bool fetches_sums_;
  std::int64_t panel_;      // from one panel of B's columns to the next
  std::int64_t wide_ = 0;   // panels of four vectors
  std::int64_t whole_ = 0;  // and of two, before the last columns
  int full_ = 0;            // vectors of those before the last
};

// KernelCode::multiply_small. MR: rows that fit the registers with two vectors each.
template <class Ops, int MR>
void multiply_small(const BlockTask& task) {
  SmallBlock<Ops, MR> block(task);
  task.sums_are_far ? block.along_rows() : block.down_columns();
}

}  // namespace
}  // namespace tessera::cpu
