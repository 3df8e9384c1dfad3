// The microkernel: walks a block in register tiles (register_tile.hpp), strip by strip of A's rows
// and panel by panel of B's columns, and says what each of them reads, writes and fetches ahead.
//
// Internal linkage throughout; see pack.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/finish.hpp"
#include "cpu/kernel.hpp"
#include "cpu/register_tile.hpp"
#include "cpu/streams.hpp"
#include "cpu/tall_tiles.hpp"
#include "cpu/wide_tiles.hpp"

namespace tessera::cpu {
namespace {

// B in place is fetched into the second-level cache ahead along its rows: this many elements, for
// the tiles to the right; and where a few rows of C stream by, so many bytes, behind a row's end in
// the rows of the next step. Zen 4, n = k = 4096, f32, 2026-11, GFLOP/s: m = 1 12.6 (without 11.6),
// 4 48 (40), 12 68 (63), 16 70 (66); and with 64 rows 106 into that cache and 103 into the nearest,
// 104 with 128 elements.
constexpr std::int64_t kColumnsAhead = 64;
constexpr std::int64_t kStreamedRows = 16;
constexpr std::int64_t kStreamedAhead = 1024;

// How many elements behind those of a register tile's columns B is fetched.
template <class Element>
std::int64_t elements_ahead(const BlockTask& task, std::int64_t col) {
  if (!task.b.in_place) return task.panels_ahead / static_cast<std::int64_t>(sizeof(Element));
  if (task.rows > kStreamedRows) return col + kColumnsAhead < task.cols ? kColumnsAhead : 0;
  constexpr auto kAhead = kStreamedAhead / static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t next_step = task.depth * task.b.depth_stride - task.cols;
  return col + kAhead < task.cols ? kAhead : next_step + kAhead;
}

// Columns before the first whole register tile (BlockTask::begins_at_pairs).
template <class Ops, int Width>
std::int64_t columns_before_a_pair(const BlockTask& task) {
  using Acc = typename Ops::Acc;
  constexpr std::int64_t kLeastRows = 33;
  constexpr std::size_t kPair = 2 * kCacheLine;
  constexpr bool kIsPairWide = Ops::kGroup == 1 && Width * sizeof(Acc) == kPair;
  if (!kIsPairWide || !task.begins_at_pairs || !task.b.in_place || task.sum == nullptr) return 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(task.sum);
  const auto row_bytes = static_cast<std::size_t>(task.sum_stride) * sizeof(Acc);
  const bool is_second = begin % kPair == kCacheLine && row_bytes % kPair == 0;
  return is_second && task.rows >= kLeastRows && task.cols > Width ? Ops::kLanes : 0;
}

// Whether few rows meet several packed panels at a time (wide_tiles.hpp): elements need no
// grouping, and what such a tile leaves fits a register tile of `MR` by `NV` vectors. Those that
// are widened on the way are B's in place.
template <class Ops, int MR, int NV>
constexpr bool kHasPanels =
    Ops::kGroup == 1 &&
    (NV == kVectorsOfPanel) && std::is_same_v<typename Ops::B, typename Ops::Acc> &&
    (MR * NV) >= most_vectors_of_panels<Ops>();

// KernelCode::multiply: walks a block in register tiles. B's panel stays in the nearest cache while
// the panels of A pass by, or the other way round (BlockTask::sums_are_far).
template <class Ops, int MR, int NV, Reading How>
void multiply_tiles(const BlockTask& task, std::int64_t padded_depth) {
  using Acc = typename Ops::Acc;
  constexpr int kWidth = NV * Ops::kLanes;
  constexpr bool kStrided = How == Reading::strided;
  if constexpr (kStrided && Ops::kGroup == 1) {
    if (task.streams > 0) {
      multiply_streams<Ops, MR, NV>(task);
      return;
    }
    if (task.rows_ahead > 0) {
      multiply_wide<Ops>(task);
      return;
    }
  }
  constexpr bool kInterleaves = kStrided && Ops::kGroup > 1;
  static_assert(!kHasTall<Ops, MR> || kTallestTile * Ops::kLanes <= MR * kWidth);
  alignas(64) Acc register_tile[MR * kWidth];
  LookAhead nothing_ahead;

  MicroTask<Ops> micro_task;
  micro_task.groups = padded_depth / Ops::kGroup;
  micro_task.ahead = task.ahead != nullptr ? task.ahead : &nothing_ahead;
  micro_task.alpha = Ops::scalar(task.alpha);
  micro_task.beta = Ops::scalar(task.beta);
  // A packed operand is strided too, so that either may be read in place alone.
  micro_task.a_row = task.a.in_place ? task.a.along_stride : 1;
  micro_task.a_step = task.a.in_place ? task.a.depth_stride : MR;
  micro_task.b_step = task.b.in_place ? task.b.depth_stride : kWidth;
  if constexpr (kInterleaves || How == Reading::rows_of_a) {
    micro_task.groups = task.depth / Ops::kGroup;
    micro_task.rest = static_cast<int>(task.depth % Ops::kGroup);
  }
  if constexpr (kInterleaves) {
    micro_task.a_step = MR * Ops::kGroup;
    micro_task.b_row = task.b.depth_stride;
    micro_task.b_step = Ops::kGroup * task.b.depth_stride;
  }

  const auto* a_begin = static_cast<const unsigned char*>(task.a.data);
  const auto* b_begin = static_cast<const unsigned char*>(task.b.data);
  std::int64_t tile_rows = task.tile_rows > 0 && task.tile_rows < MR ? task.tile_rows : MR;
  if constexpr (Ops::kGroup == 1 && (kStrided || How == Reading::rows_of_a)) {
    // Nearly equal strips: one of four rows waits for B. Zen 5, f32, 2026-11: 64×4096×4096 11.97
    // and 11.54 ms, on two threads 6.52 and 5.94.
    if (task.a.in_place && task.rows > tile_rows) {
      const std::int64_t strips = (task.rows + tile_rows - 1) / tile_rows;
      tile_rows = (task.rows + strips - 1) / strips;
    }
  }
  const std::int64_t panel_bytes_a =
      task.a.in_place
          ? tile_rows * task.a.along_stride * static_cast<std::int64_t>(sizeof(typename Ops::A))
          : task.a.panel_bytes;
  const std::int64_t first_cols = kStrided ? columns_before_a_pair<Ops, kWidth>(task) : 0;

  constexpr Reading kEdge = kStrided ? Reading::strided_edge : How;
  static constexpr std::array tables = {MicroTable<Ops, MR, NV, How>::kFunctions,
                                        MicroTable<Ops, MR, NV, kEdge>::kFunctions};
  // The panel of B at a column, and the register tile of it at a row.
  std::int64_t cols = 0;
  std::size_t vectors = 0;
  bool is_edge = false;
  std::int64_t ahead = 0;
  const auto face_panel = [&](std::int64_t col) {
    const std::int64_t most = col < first_cols ? first_cols : kWidth;
    cols = task.cols - col < most ? task.cols - col : most;
    vectors = static_cast<std::size_t>((cols - 1) / Ops::kLanes);
    is_edge = kStrided && task.b.in_place && cols % Ops::kLanes != 0;
    micro_task.mask = Ops::mask(static_cast<int>(cols) - static_cast<int>(vectors) * Ops::kLanes);
    const std::int64_t bytes = task.b.in_place
                                   ? col * static_cast<std::int64_t>(sizeof(typename Ops::B))
                                   : col / kWidth * task.b.panel_bytes;
    micro_task.b = reinterpret_cast<const typename Ops::B*>(b_begin + bytes);
    ahead = elements_ahead<typename Ops::B>(task, col);
  };
  const auto multiply_tile = [&](std::int64_t row, std::int64_t col) {
    const std::int64_t rows = task.rows - row < tile_rows ? task.rows - row : tile_rows;
    // A packed panel is near once the first strip has met it.
    micro_task.b_ahead = task.b.in_place || row == 0 ? ahead : 0;
    if (task.sum != nullptr) {
      micro_task.sum = static_cast<Acc*>(task.sum) + row * task.sum_stride + col;
      micro_task.sum_stride = task.sum_stride;
    } else {
      micro_task.sum = register_tile;
      micro_task.sum_stride = kWidth;
    }
    tables[is_edge][static_cast<std::size_t>(rows - 1)][vectors](micro_task);
    if (task.finish != nullptr) {
      finish_block<Acc>(sub_block(*task.finish, row, col), micro_task.sum, micro_task.sum_stride,
                        rows, cols);
    }
  };

  constexpr bool kTall = kHasTall<Ops, MR> && (kStrided || How == Reading::rows_of_a);
  const bool may_be_tall = kTall && task.a.in_place &&
                           suits_tall<Ops>(task.rows, task.a.along_stride, task.a.depth_stride);
  // The panel that it faces, of a single vector.
  const auto multiply_tall_panel = [&](std::int64_t col) {
    if constexpr (kTall) {
      const bool sums_stay = task.sum != nullptr;
      const TallTask<Ops> tall{
          {.a = reinterpret_cast<const typename Ops::A*>(a_begin),
           .b = micro_task.b,
           .a_row = task.a.along_stride,
           .a_step = task.a.depth_stride,
           .b_step = micro_task.b_step,
           .depth = task.depth,
           .sum = sums_stay ? static_cast<Acc*>(task.sum) + col : register_tile,
           .sum_stride = sums_stay ? task.sum_stride : Ops::kLanes,
           .alpha = micro_task.alpha,
           .beta = micro_task.beta},
          micro_task.mask,
          is_edge};
      multiply_tall(tall, task.rows, sums_stay,
                    [&](std::int64_t row, std::int64_t rows, const Acc* sum, std::int64_t stride) {
                      if (task.finish == nullptr) return;
                      finish_block<Acc>(sub_block(*task.finish, row, col), sum, stride, rows, cols);
                    });
    }
  };

  // Columns that several panels at a time take.
  std::int64_t done = 0;
  if constexpr (kHasPanels<Ops, MR, NV>) {
    const bool are_few =
        task.rows > 0 && task.rows <= most_rows_of_panels<Ops>() && task.rows <= tile_rows;
    if (!task.b.in_place && are_few && task.cols >= 2 * kWidth && has_two_units()) {
      WideTask<Ops> tile{};
      tile.a = reinterpret_cast<const typename Ops::A*>(a_begin);
      tile.a_row = micro_task.a_row;
      tile.a_step = micro_task.a_step;
      tile.depth = task.depth;
      tile.alpha = micro_task.alpha;
      tile.beta = micro_task.beta;
      done = multiply_panels<Ops>(
          task, tile, register_tile,
          [&](const WideTask<Ops>& multiplied, std::int64_t col, std::int64_t some) {
            if (task.finish == nullptr) return;
            finish_block<Acc>(sub_block(*task.finish, 0, col), multiplied.sum,
                              multiplied.sum_stride, task.rows, some);
          });
    }
  }

  if (task.sums_are_far && !(may_be_tall && task.cols <= Ops::kLanes)) {
    micro_task.fetches_sum = task.sum != nullptr;
    const unsigned char* a_panel = a_begin;
    for (std::int64_t row = 0; row < task.rows; row += tile_rows, a_panel += panel_bytes_a) {
      micro_task.a = reinterpret_cast<const typename Ops::A*>(a_panel);
      for (std::int64_t col = done; col < task.cols; col += cols) {
        face_panel(col);
        multiply_tile(row, col);
      }
    }
    return;
  }
  for (std::int64_t col = done; col < task.cols; col += cols) {
    face_panel(col);
    if (may_be_tall && vectors == 0) {
      multiply_tall_panel(col);
      continue;
    }
    const unsigned char* a_panel = a_begin;
    for (std::int64_t row = 0; row < task.rows; row += tile_rows, a_panel += panel_bytes_a) {
      micro_task.a = reinterpret_cast<const typename Ops::A*>(a_panel);
      multiply_tile(row, col);
    }
  }
}

}  // namespace
}  // namespace tessera::cpu
