// The block shapes of the Hopper kernels, read by the catalogue and by the files that compile them,
// which take minutes: nothing of a plan is included here, so that they stay as it grows.
#pragma once

#include <algorithm>

namespace tessera {

inline constexpr int kSm90BlockK = 64;  // one 128-byte swizzle row of 16-bit elements

// What one block of threads computes, in the kernel's orientation: `rows` along wgmma's M, 64 for
// each warpgroup; or, in turns, all for one of two warpgroups, of which one stores its tile while
// the other multiplies the next. A kernel is compiled for each; in which clusters it runs, and
// which way round its rows lie on C, is decided at the launch.
struct Sm90Block {
  int rows = 0;
  int cols = 0;
  int stages = 0;
  bool in_turns = false;

  constexpr int sums_per_thread() const { return in_turns ? cols : cols / 2; }
  // From so many peers of a tile on they meet to add it up (schedule/fixup_meeting.hpp). Of fewer
  // the last to arrive adds the others' partials, in less code: H200, 2026-11.
  constexpr int meets_from() const { return std::max(4, 384 / sums_per_thread()); }

  constexpr bool operator==(const Sm90Block&) const = default;
};

inline constexpr Sm90Block kSm90Block128x256 = {128, 256, 4};
inline constexpr Sm90Block kSm90Block128x224 = {128, 224, 4};
inline constexpr Sm90Block kSm90Block128x192 = {128, 192, 5};
inline constexpr Sm90Block kSm90Block128x160 = {128, 160, 5};
inline constexpr Sm90Block kSm90Block128x128 = {128, 128, 6};
inline constexpr Sm90Block kSm90Block128x96 = {128, 96, 7};
inline constexpr Sm90Block kSm90Block128x64 = {128, 64, 8};
inline constexpr Sm90Block kSm90Block128x32 = {128, 32, 9};
inline constexpr Sm90Block kSm90Block128x16 = {128, 16, 10};
inline constexpr Sm90Block kSm90Block128x128InTurns = {128, 128, 6, true};
inline constexpr Sm90Block kSm90Block128x160InTurns = {128, 160, 5, true};
inline constexpr Sm90Block kSm90Block64x192 = {64, 192, 6};
inline constexpr Sm90Block kSm90Block64x64 = {64, 64, 12};
inline constexpr Sm90Block kSm90Block64x32 = {64, 32, 12};

// Blocks of a cluster, along the block's rows and its columns.
struct Sm90Cluster {
  int rows = 1;
  int cols = 1;
};

}  // namespace tessera
