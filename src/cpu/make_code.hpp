// Assembles a KernelCode from an Ops, a register tile and the units that A and B are packed in.
//
// Internal linkage; see pack.hpp.
#pragma once

#include "cpu/copied_rows.hpp"
#include "cpu/dots.hpp"
#include "cpu/microkernel.hpp"
#include "cpu/pack.hpp"
#include "cpu/passing.hpp"
#include "cpu/small_kernel.hpp"
#include "cpu/widen_lines.hpp"

namespace tessera::cpu {
namespace {

using UnitsF32 = PackUnits<float, float, 1, std::uint32_t, Keep<float>>;
using UnitsF64 = PackUnits<double, double, 1, std::uint64_t, Keep<double>>;
template <class Source>
using UnitsWidened = PackUnits<float, Source, 1, std::uint32_t, WidenToFloat>;
template <class Source>
using UnitsI16 = PackUnits<std::int16_t, Source, 2, std::uint32_t, Keep<std::int16_t>>;
template <class Source>
using UnitsI32 = PackUnits<std::int32_t, Source, 1, std::uint32_t, Keep<std::int32_t>>;

template <class Acc>
constexpr ElementType accumulator_type() {
  return std::is_same_v<Acc, double>  ? ElementType::f64
         : std::is_same_v<Acc, float> ? ElementType::f32
                                      : ElementType::i32;
}

// Ops: the arithmetic. MR rows by NV vectors: the register tile. UnitsA, UnitsB: the packed
// layouts. DotOps: the arithmetic of dot products, which read operands as they come; RowOps: that
// of rows of B in place beside a packed A.
template <class Ops, int MR, int NV, class UnitsA, class UnitsB, class DotOps = Ops,
          class RowOps = Ops>
struct Code {
  static constexpr int kWidth = NV * Ops::kLanes;
  static constexpr std::int64_t kExtra =
      Ops::kOffsetA ? kWidth * static_cast<std::int64_t>(sizeof(typename Ops::Acc)) : 0;
  // In place only what needs neither conversion nor grouping.
  static constexpr bool kInPlace = Ops::kGroup == 1 &&
                                   std::is_same_v<typename UnitsA::Source, typename Ops::A> &&
                                   std::is_same_v<typename UnitsB::Source, typename Ops::B>;

  static constexpr bool kKeepsSize = sizeof(typename UnitsA::Source) == sizeof(typename Ops::A) &&
                                     sizeof(typename UnitsB::Source) == sizeof(typename Ops::B);
  // Or what is grouped in registers.
  static constexpr bool kInterleaves = kKeepsSize && requires { Ops::load_rows; };
  // Or what is widened there, beside rows of A that have been before, where they need no grouping.
  static constexpr bool kWidensRows = !std::is_same_v<RowOps, Ops>;
  static constexpr bool kWidensA = kWidensRows && Ops::kGroup == 1;
  // A's rows along k, beside a packed B.
  static constexpr bool kKeepsRows = (kInPlace || kInterleaves) && !kShortSteps<MR, NV>;
  // A packed B's panel is in the nearest cache; one in place takes as long as twelve rows.
  static constexpr int kFewRowsInPlace = 8;
  // Where a step of k is long it need not be the loop's only one (BlockTask::steps_together); of
  // the types that pack in passing, too, which are those that were measured.
  static constexpr bool kTogether = !kShortSteps<MR, NV> && requires {
    Ops::multiply_add_to;
    Ops::multiply_add_element;
  };
  static constexpr bool kPasses = kInPlace && kTogether;
  // Along k no grouping is needed either.
  static constexpr bool kDots = requires { typename DotOps::Dots; }
  &&sizeof(typename UnitsA::Source) == sizeof(typename DotOps::A) &&
      sizeof(typename UnitsB::Source) == sizeof(typename DotOps::B);

  static std::int64_t padded(std::int64_t depth) {
    return (depth + Ops::kGroup - 1) / Ops::kGroup * Ops::kGroup;
  }
  static std::int64_t bytes_a(std::int64_t depth) {
    return padded(depth) * MR * static_cast<std::int64_t>(sizeof(typename Ops::A));
  }
  static std::int64_t bytes_b(std::int64_t depth) {
    return padded(depth) * kWidth * static_cast<std::int64_t>(sizeof(typename Ops::B)) + kExtra;
  }

  static void pack_a(const PackSource& source, void* panels) {
    Packer<UnitsA, MR, typename Ops::Transpose>::pack(source, padded(source.depth), panels,
                                                      bytes_a(source.depth));
  }

  // As panels of one row.
  static void widen_rows(const PackSource& source, void* to) {
    constexpr int kSize = sizeof(typename Ops::A);
    Packer<UnitsA, 1, typename Ops::Transpose>::pack(source, source.depth, to,
                                                     copied_stride(source.depth, kSize) * kSize);
  }

  static void pack_b(const PackSource& source, void* panels) {
    Packer<UnitsB, kWidth, typename Ops::Transpose>::pack(source, padded(source.depth), panels,
                                                          bytes_b(source.depth));
    if constexpr (Ops::kOffsetA) sum_columns(source, panels);
  }

  static void multiply(const BlockTask& task) {
    if constexpr (kDots) {
      if (task.b.in_place && task.b.depth_stride == 1 && task.b.along_stride != 1) {
        multiply_dots<DotOps>(task);
        return;
      }
    }
    if constexpr (kPasses) {
      if (task.passing_panel != nullptr) {
        multiply_passing<Ops>(task);
        return;
      }
    }
    // A packed B has nothing to fetch along its rows. Zen 5, one thread, 2026-11, 1000³, 1024³ and
    // 2048³: f32 0.6 to 0.9 % less time than strided, f64 0.9 to 1.3 %.
    if constexpr (kKeepsRows) {
      if (task.a.in_place && task.a.depth_stride == 1 && !task.b.in_place) {
        multiply_tiles<Ops, MR, NV, Reading::rows_of_a>(task, task.depth);
        return;
      }
    }
    // Short steps in small_kernel.hpp's tiles: Zen 3, one thread, 2026-11, f32 with A in place
    // beside a packed B, 32×300×64 48 and 26 µs. A's lines that come from far, for every step of k
    // one, are fetched by the others.
    if constexpr (kInPlace && kShortSteps<MR, NV>) {
      constexpr std::int64_t kNear = 2048 / static_cast<std::int64_t>(sizeof(typename Ops::A));
      const bool is_plain = task.streams == 0 && task.rows_ahead == 0 && task.sum != nullptr;
      const bool a_is_near = task.a.depth_stride == 1 || task.depth <= kNear;
      if (task.a.in_place && is_plain && a_is_near) {
        multiply_small<Ops, MR>(task);
        if (task.finish != nullptr) {
          finish_block<typename Ops::Acc>(*task.finish, task.sum, task.sum_stride, task.rows,
                                          task.cols);
        }
        return;
      }
    }
    if constexpr (kWidensRows) {
      if (task.b.in_place) {
        multiply_tiles<RowOps, MR, NV, Reading::strided>(task, padded(task.depth));
        return;
      }
    }
    if constexpr (kInPlace || kInterleaves) {
      if (task.a.in_place || task.b.in_place) {
        multiply_tiles<Ops, MR, NV, Reading::strided>(task, padded(task.depth));
        return;
      }
    }
    if constexpr (kTogether) {
      if (task.steps_together) {
        if (task.multiply_adds_load) {
          multiply_tiles<Ops, MR, NV, Reading::packed_loading>(task, padded(task.depth));
        } else {
          multiply_tiles<Ops, MR, NV, Reading::packed_together>(task, padded(task.depth));
        }
        return;
      }
    }
    multiply_tiles<Ops, MR, NV, Reading::packed>(task, padded(task.depth));
  }

  // Behind each panel of B: the sums of its columns, times the offset that A was packed with,
  // negative.
  static void sum_columns(const PackSource& source, void* panels) {
    auto* panel = static_cast<unsigned char*>(panels);
    for (std::int64_t first = 0; first < source.along; first += kWidth) {
      const auto* elements = reinterpret_cast<const typename Ops::B*>(panel);
      const std::int64_t groups = padded(source.depth) / Ops::kGroup;
      panel += bytes_b(source.depth);
      auto* sums = reinterpret_cast<typename Ops::Acc*>(panel - kExtra);
      // Two sums of each vector, so that four additions are under way: one takes as long as four.
      typename Ops::Vec sum[2][NV];
      for (int v = 0; v < NV; ++v) sum[0][v] = sum[1][v] = Ops::zero();
      const auto add = [&](std::int64_t group, int half) __attribute__((always_inline)) {
        for (int v = 0; v < NV; ++v) {
          const auto* at = elements + (group * kWidth + v * Ops::kLanes) * Ops::kGroup;
          sum[half][v] = Ops::multiply_add(sum[half][v], Ops::offset(), Ops::load_b(at));
        }
      };
      std::int64_t group = 0;
      for (; group + 1 < groups; group += 2) {
        add(group, 0);
        add(group + 1, 1);
      }
      if (group < groups) add(group, 0);
      for (int v = 0; v < NV; ++v) {
        const auto negative = Ops::subtract(Ops::zero(), sum[0][v]);
        Ops::store(sums + v * Ops::kLanes, Ops::subtract(negative, sum[1][v]));
      }
    }
  }

  static constexpr KernelCode make(std::string_view name, const KernelCode* turned = nullptr) {
    KernelCode code;
    code.name = name;
    code.mr = MR;
    code.nr = kWidth;
    code.depth_step = Ops::kGroup;
    code.packed_size_a = sizeof(typename Ops::A);
    code.packed_size_b = sizeof(typename Ops::B);
    code.panel_extra_b = static_cast<int>(kExtra);
    code.reads_in_place = kInPlace;
    code.keeps_rows = kKeepsRows;
    if (kInterleaves && kKeepsRows) code.few_rows = kFewRowsInPlace;
    code.ends_rows = kInterleaves && kKeepsRows;
    code.interleaves = kInterleaves;
    code.widens = kWidensRows;
    if (kInPlace || kWidensA) {
      code.few_stream_rows = kMostOfFewStreams<MR, NV>;
      code.many_stream_rows = kMostOfManyStreams<MR, NV>;
      code.wide_rows = kShortSteps<MR, NV> ? kMostRowsOfNarrowWideTiles : kMostRowsOfWideTiles;
    }
    if constexpr (kHasPanels<Ops, MR, NV>) code.panel_rows = most_rows_of_panels<Ops>();
    if (kPasses) code.passing_cols = kPassingVectors * Ops::kLanes;
    code.multiplies_dots = kDots;
    code.accumulator = accumulator_type<typename Ops::Acc>();
    code.turned = turned;
    code.pack_a = pack_a;
    code.pack_b = pack_b;
    if constexpr (kWidensA) code.widen_rows = widen_rows;
    code.multiply = multiply;
    if constexpr (kWidensA) {
      code.widen_lines = widen_lines<typename UnitsA::Source, typename Ops::Transpose>;
    }
    if constexpr (kInPlace || kWidensA) {
      static_assert(NV == 2, "small products walk packed panels two vectors at a time");
      code.multiply_small = multiply_small<Ops, MR>;
    }
    code.add = add_sums<typename Ops::Acc>;
    code.finish = finish_block<typename Ops::Acc>;
    return code;
  }
};

}  // namespace
}  // namespace tessera::cpu
