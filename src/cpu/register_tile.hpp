// The register tile, once for all types and instruction sets: up to MR rows by NV vectors of C stay
// in registers while k runs. `Ops` says what a vector is and how it multiplies (ops_*.hpp). Every
// number of rows and of vectors is an instantiation of its own, and the last vector is masked, so
// an edge runs the same code at the same speed as the middle. microkernel.hpp walks blocks in them.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/kernel.hpp"

namespace tessera::cpu {
namespace {

// How operands are read: from packed panels; from those, several steps of k at a time, and so that
// multiply-adds load elements of A; A's rows along k where they lie, whole groups of k of them, and
// B packed; or either of them where it lies, and whether B's last vector is masked then, which
// takes a multiply-add's place: 2 % on Zen 4, 2026-11.
enum class Reading { packed, packed_together, packed_loading, rows_of_a, strided, strided_edge };

// Where a register tile finds its operands and leaves its sum.
template <class Ops>
struct MicroTask {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row = 0;  // strides in elements; of what is not packed
  std::int64_t a_step = 0;
  std::int64_t b_step = 0;
  std::int64_t b_row = 0;  // from one k to the next
  std::int64_t b_ahead = 0;
  std::int64_t groups;  // of k, whole ones where rows are interleaved
  int rest = 0;         // k beyond those; not of packed panels, which are padded
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
  typename Ops::Mask mask;  // of the last vector's columns
  LookAhead* ahead = nullptr;
  bool fetches_sum = false;
};

// The same of simpler tiles, whose operands are read where they lie (B may be packed all the same).
// Strides in elements.
template <class Ops>
struct TaskInPlace {
  const typename Ops::A* a;
  const typename Ops::B* b;
  std::int64_t a_row;
  std::int64_t a_step;
  std::int64_t b_step;
  std::int64_t depth;
  typename Ops::Acc* sum;
  std::int64_t sum_stride;
  typename Ops::Acc alpha;
  typename Ops::Acc beta;
};

// Steps of k between fetching rows of C, and after the last.
constexpr std::int64_t kStepsPerFetch = 4;
constexpr std::int64_t kStepsAfterFetch = 16;

// A step of k of 12 multiply-adds, two a cycle, is over before a loop around it, far rows'
// addresses included, is decoded: such register tiles take four steps at a time, and their A is
// packed. AVX2 on Zen 3, 2026-11, one thread, f32: 256³ 70 GFLOP/s with A in place, and 91; 512³ 66
// and 90. So do those of one vector where A is not packed: Granite Rapids, one thread, 2026-11, the
// time step by step over the time so, f32 1387×16×262 1.15, A transposed 1.34, 500×16×2000 1.19,
// 1.20, f64 1387×8×262 with A transposed 1.12, 16 others level.
template <int MR, int NV>
constexpr bool kShortSteps = (MR * NV) <= 12;
constexpr int kStepsTogether = 4;

// Reading::packed_loading: where several steps of two vectors go together, multiply-adds of every
// other row load A's element themselves (BlockTask::multiply_adds_load): a step takes 32
// instructions in place of 38, and 20 loads, of which there are two a cycle, in place of 14 (all
// rows so, and it would be 26, more than 24 multiply-adds leave time for). A core to itself is as
// fast either way; one whose second hardware thread is busy starts half as many instructions.
// Emerald Rapids, one thread, 2026-11, the time without over the time so: this loop alone,
// 216×192×256 in f32, beside a busy thread 1.08 to 1.13, with the core to itself 1.00; beside one
// f32 1024³ 1.07, with B along k 1.07, 300×1000×700 so 1.07, 2000×300×500 1.08,
// f64 1.07, 1.06, 1.02, 1.06; to itself f32 512³ to 1536³ with B along k 1.00 to 1.01, f64 1.00
// to 1.02. Granite Rapids, a core to itself, 2026-11, the time so over the time without, B along k:
// f32 512³ 1.04 to 1.06, 1024³ 1.05, 1536×1792×6016 1.04 to 1.07, f64 512³ 1.05, 1025³ 1.07. Rows
// of A where they lie, with an index in each address, lose by it (packing in passing 0.8).
inline bool loads_itself(int row) {
  return row % 2 == 1;
}

// With so few rows in registers there is no time to fetch what comes after the block.
constexpr int kFewRows = 4;

// Of a vector of B that no other row of A needs. Where the compiler is kept from joining the load
// and the multiply-add they are one instruction all the same: each that is under way takes one of
// the processor's registers, not two, and it looks twice as far ahead. Zen 3, one thread, 2026-11,
// the time with two over the time with one: f32 1×128×128 1.05, 1×1000×1000 1.04, 1×4096×4096 1.04;
// f64 1.05, 1.03, 1.04.
template <class Ops, class Row>
[[gnu::always_inline]] inline typename Ops::Vec multiply_add_alone(typename Ops::Vec sum, Row row,
                                                                   const typename Ops::B* b) {
  if constexpr (requires { Ops::multiply_add_from(sum, row, b); }) {
    return Ops::multiply_add_from(sum, row, b);
  } else {
    return Ops::multiply_add(sum, row, Ops::load_b(b));
  }
}

// One group of k, or what is left of one (`depth`), of a packed A and a B whose rows are
// interleaved in registers.
template <class Ops, int Rows, int Vectors, bool Edge>
[[gnu::always_inline]] inline void add_interleaved(typename Ops::Vec (&sum)[Rows][Vectors],
                                                   typename Ops::Vec (&offset)[Vectors],
                                                   const typename Ops::A* a,
                                                   const typename Ops::B* b, std::int64_t b_row,
                                                   int depth, typename Ops::Mask mask) {
  static_assert(Vectors <= 2);
  typename Ops::BVec columns[Vectors];
  if constexpr (Vectors == 1) {
    columns[0] = Edge ? Ops::load_rows(b, b_row, depth, mask) : Ops::load_rows(b, b_row, depth);
  } else if constexpr (Edge) {
    Ops::load_both(columns, b, b_row, depth, mask);
  } else {
    Ops::load_both(columns, b, b_row, depth);
  }
  if constexpr (Ops::kOffsetA) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      offset[v] = Ops::multiply_add(offset[v], Ops::offset(), columns[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const auto row = Ops::broadcast(a + r * Ops::kGroup);
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::multiply_add(sum[r][v], row, columns[v]);
  }
}

// A group of k of a row of A; one that lies where the caller put it has no offset yet.
template <class Ops, Reading How, class Row>
[[gnu::always_inline]] inline Row with_offset(Row row) {
  if constexpr (How == Reading::rows_of_a && Ops::kOffsetA) {
    return Ops::with_offset(row);
  } else {
    return row;
  }
}

// Fetches a block of sums, but of rows that begin off a line the last.
template <class Ops>
[[gnu::always_inline]] inline void fetch_sums(const typename Ops::Acc* row, std::int64_t stride,
                                              std::int64_t rows, std::int64_t cols) {
#pragma GCC unroll 8
  for (; rows > 0; --rows, row += stride) {
#pragma GCC unroll 4
    for (std::int64_t col = 0; col < cols; col += Ops::kLanes) Ops::prefetch(row + col);
  }
}

// C ← alpha·sum + beta·C; `mask`: the last vector's columns.
template <class Ops, int Rows, int Vectors>
[[gnu::always_inline]] inline void store_sums(typename Ops::Vec (&sum)[Rows][Vectors],
                                              typename Ops::Acc alpha, typename Ops::Acc beta,
                                              typename Ops::Mask mask, typename Ops::Acc* c,
                                              std::int64_t stride) {
  if (alpha != 1) {
    const auto factor = Ops::set(alpha);
#pragma GCC unroll 24
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::multiply(factor, sum[r][v]);
    }
  }
  const auto factor = Ops::set(beta);
  const bool reads_c = beta != 0;
#pragma GCC unroll 24
  for (int r = 0; r < Rows; ++r, c += stride) {
    asm("" : "+r"(c));  // all rows' addresses at once would not fit the registers
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      auto* to = c + v * Ops::kLanes;
      if (v < Vectors - 1) {
        if (reads_c) sum[r][v] = Ops::scale_add(sum[r][v], factor, Ops::load(to));
        Ops::store(to, sum[r][v]);
      } else {
        if (reads_c) sum[r][v] = Ops::scale_add(sum[r][v], factor, Ops::load(to, mask));
        Ops::store(to, sum[r][v], mask);
      }
    }
  }
}

template <class Ops, int MR, int NV, int Rows, int Vectors, Reading How>
void micro(const MicroTask<Ops>& task) {
  using Vec = typename Ops::Vec;
  using BVec = typename Ops::BVec;
  constexpr int kLanes = Ops::kLanes;
  constexpr int kGroup = Ops::kGroup;
  constexpr bool kEdge = How == Reading::strided_edge;
  constexpr bool kStrided = How == Reading::strided || kEdge;
  // Rows of B in place become groups of k in registers.
  constexpr bool kInterleaves = kStrided && kGroup > 1;
  constexpr bool kRowsLoadThemselves = How == Reading::packed_loading;
  constexpr bool kPackedTogether = How == Reading::packed_together || kRowsLoadThemselves;
  constexpr bool kPacked = How == Reading::packed || kPackedTogether;
  constexpr bool kTogether =
      kPackedTogether ||
      (How == Reading::packed ? kShortSteps<MR, NV> : kGroup == 1 && Vectors == 1);
  constexpr int kUnrolled = kTogether ? kStepsTogether : 1;

  // Copies, which the stores to C cannot change.
  const auto* b = task.b;
  const std::int64_t groups = task.groups;
  const std::int64_t sum_stride = task.sum_stride;
  const typename Ops::Mask mask = task.mask;
  typename Ops::Acc* const sum_begin = task.sum;
  const std::int64_t a_step = kPacked                     ? MR * kGroup
                              : How == Reading::rows_of_a ? kGroup
                                                          : task.a_step;
  const std::int64_t b_step = kStrided ? task.b_step : NV * kLanes * kGroup;
  [[maybe_unused]] const std::int64_t b_row = task.b_row;
  const std::int64_t b_ahead = task.b_ahead;
  // Twelve rows' addresses do not fit the registers. Every fourth row's do, and the compiler, kept
  // from seeing how they are related, finds the rows between by adding one, two or three strides.
  constexpr bool kFarApart = How == Reading::rows_of_a || (kStrided && !kInterleaves);
  constexpr int kQuads = kFarApart ? (Rows + 3) / 4 : 1;
  const typename Ops::A* a[kQuads];
  const std::int64_t a_row = task.a_row;
  std::int64_t a_row3 = 3 * a_row;
  if constexpr (kFarApart) asm("" : "+r"(a_row3));
#pragma GCC unroll 4
  for (int q = 0; q < kQuads; ++q) {
    a[q] = task.a + 4 * q * a_row;
    if constexpr (kFarApart) asm("" : "+r"(a[q]));
  }
  const auto row_of_a = [&](int r) __attribute__((always_inline)) {
    if constexpr (!kFarApart) return a[0] + r * kGroup;
    return a[r / 4] + (r % 4 == 3 ? a_row3 : r % 4 * a_row);
  };

  // A was packed with an offset to make it unsigned: what that adds lies behind B's panel,
  // negative, and sums begin with it. Taken off in the end it would be the last thing to wait for:
  // i8 on a Zen 5, one thread, 2026-11, this block alone: 128³ 4.50 and 4.29 µs, 256³ 34.5
  // and 33.0, 512³ 271 and 264.
  Vec begin[Vectors];
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) begin[v] = Ops::zero();
  if constexpr (Ops::kOffsetA && !kInterleaves) {
    const std::int64_t padded_groups = groups + (task.rest > 0 ? 1 : 0);
    if (padded_groups > 0) {
      const auto* offsets =
          reinterpret_cast<const typename Ops::Acc*>(b + padded_groups * NV * kLanes * kGroup);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) begin[v] = Ops::load(offsets + v * kLanes);
    }
  }
  Vec sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sum[r][v] = begin[v];
  }
  [[maybe_unused]] Vec offset[Vectors];  // what A's offset (Ops::kOffsetA) adds to each column
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) offset[v] = Ops::zero();

  // C is fetched row by row shortly before it is needed: any earlier, the panels would drive it out
  // again, and all at once there are more misses than can be under way. With a short k, C is near
  // already: it was written a moment ago, or all is small; or it is so large that it cannot be, and
  // is fetched before anything else. Rows that start off a cache line end in one line more (512³ in
  // f32, operands 16 bytes off a line: 103 GFLOP/s without it, 104.5 with; 1000³ in f64 48.9
  // and 51.8; Zen 4, 2026-11).
  constexpr std::int64_t kFetchBefore = Rows * kStepsPerFetch + kStepsAfterFetch;
  static_assert(kFetchBefore <= kShortGroups);
  const bool fetches = groups > kShortGroups;
  std::int64_t until = fetches ? groups - kFetchBefore : groups;
  const auto* c_row = sum_begin;
  int fetched = fetches ? 0 : Rows;
  if (task.fetches_sum) fetch_sums<Ops>(sum_begin, sum_stride, Rows, Vectors * kLanes);
  LineRun far = task.ahead->run;
  // One group of k of packed panels, or of operands in place whose k needs no grouping.
  [[maybe_unused]] const auto add_group = [&]() __attribute__((always_inline)) {
    if constexpr (!kInterleaves) {
      BVec columns[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        constexpr int kBetween = kStrided ? kLanes : kLanes * kGroup;
        if constexpr (kStrided) __builtin_prefetch(b + v * kBetween + b_ahead, 0, 2);
        if constexpr (kEdge) {
          columns[v] = v == Vectors - 1 ? Ops::load_b(b + v * kBetween, mask)
                                        : Ops::load_b(b + v * kBetween);
        } else {
          columns[v] = Ops::load_b(b + v * kBetween);
        }
      }
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        if constexpr (kRowsLoadThemselves) {
          if (loads_itself(r)) {
#pragma GCC unroll 4
            for (int v = 0; v < Vectors; ++v) {
              sum[r][v] = Ops::multiply_add_element(sum[r][v], row_of_a(r), columns[v]);
            }
            continue;
          }
        }
        const auto row = with_offset<Ops, How>(Ops::broadcast(row_of_a(r)));
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::multiply_add(sum[r][v], row, columns[v]);
      }
    }
  };
  // What so many groups of a packed panel far ahead are, if it has to be fetched.
  [[maybe_unused]] const auto fetch_panel = [&](int groups_ahead) __attribute__((always_inline)) {
    if (b_ahead == 0) return;
#pragma GCC unroll 16
    for (int v = 0; v < groups_ahead * NV; ++v) {
      __builtin_prefetch(b + b_ahead + v * kLanes * kGroup, 0, 2);
    }
  };
  for (std::int64_t group = 0;;) {
    if constexpr (kUnrolled > 1) {
#pragma GCC unroll 1
      for (; group + kUnrolled <= until; group += kUnrolled) {
        if constexpr (Rows > kFewRows) {
          __builtin_prefetch(far.next, 0, 2);
          __builtin_prefetch(far.next + far.step, 0, 2);
          far.next += 2 * far.step;
          far.left -= 2;
          if (far.left <= 0) far = next_run(*task.ahead, task.a);
        }
        if constexpr (kPacked) fetch_panel(kUnrolled);
#pragma GCC unroll 8
        for (int u = 0; u < kUnrolled; ++u, b += b_step) {
          add_group();
#pragma GCC unroll 4
          for (int q = 0; q < kQuads; ++q) {
            a[q] += a_step;
            // Offsets from far rows' addresses would take registers of their own.
            if constexpr (!kPacked) asm("" : "+r"(a[q]));
          }
          // Keeps the compiler from loading the next groups first, and spilling sums for it.
          if constexpr (kPacked) asm volatile("" ::: "memory");
        }
      }
    }
#pragma GCC unroll 1
    for (; group < until; ++group, b += b_step) {
      if constexpr (Rows > kFewRows) fetch_lines<2, 1>(far, *task.ahead, task.a);
      if constexpr (kPacked) fetch_panel(1);
      if constexpr (kInterleaves) {
#pragma GCC unroll 4
        for (int row = 0; row < kGroup; ++row) {
          __builtin_prefetch(b + row * b_row + b_ahead, 0, 2);
        }
        add_interleaved<Ops, Rows, Vectors, kEdge>(sum, offset, a[0], b, b_row, kGroup, mask);
      } else {
        add_group();
      }
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) a[q] += a_step;
    }
    if (fetched == Rows) break;
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) Ops::prefetch(c_row + v * kLanes);
    Ops::prefetch(c_row + Vectors * kLanes - 1);
    c_row += sum_stride;
    ++fetched;
    until = fetched < Rows ? (until + kStepsPerFetch < groups ? until + kStepsPerFetch : groups)
                           : groups;
  }

  task.ahead->run = far;

  if constexpr (kInterleaves) {
    if (task.rest > 0) {
      add_interleaved<Ops, Rows, Vectors, kEdge>(sum, offset, a[0], b, b_row, task.rest, mask);
    }
    if constexpr (Ops::kOffsetA) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::subtract(sum[r][v], offset[v]);
      }
    }
  } else if constexpr (How == Reading::rows_of_a && kGroup > 1) {
    if (task.rest > 0) {
      BVec columns[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) columns[v] = Ops::load_b(b + v * kLanes * kGroup);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const auto row = with_offset<Ops, How>(Ops::broadcast_last(row_of_a(r), task.rest));
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[r][v] = Ops::multiply_add(sum[r][v], row, columns[v]);
      }
    }
  }
  store_sums<Ops>(sum, task.alpha, task.beta, mask, sum_begin, sum_stride);
}

// All sizes of one register tile, by rows − 1 and vectors − 1.
template <class Ops, int MR, int NV, Reading How>
struct MicroTable {
  using Function = void (*)(const MicroTask<Ops>&);

  // With a single vector each element of A is loaded once either way, and few rows are an edge: not
  // worth the time that another instantiation takes to compile.
  static constexpr Reading reading(int rows, int vectors) {
    const bool may_load = vectors > 1 && 2 * rows > MR;
    return How == Reading::packed_loading && !may_load ? Reading::packed_together : How;
  }
  template <int Rows, std::size_t... V>
  static constexpr std::array<Function, NV> row(std::index_sequence<V...>) {
    return {&micro<Ops, MR, NV, Rows, static_cast<int>(V) + 1,
                   reading(Rows, static_cast<int>(V) + 1)>...};
  }
  template <std::size_t... R>
  static constexpr std::array<std::array<Function, NV>, MR> all(std::index_sequence<R...>) {
    return {row<static_cast<int>(R) + 1>(std::make_index_sequence<NV>())...};
  }
  static constexpr auto kFunctions = all(std::make_index_sequence<MR>());
};

}  // namespace
}  // namespace tessera::cpu
