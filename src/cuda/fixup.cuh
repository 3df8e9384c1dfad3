// The fix-up on the device: FixupStep's walk (schedule/fixup.hpp), for a group of threads that hold
// a partial tile in registers. Both kernels call it between their main loop and their epilogue.
#pragma once

#include <cstdint>

#include "cuda/kernel_arguments.hpp"
#include "cuda/ptx/arrival_counter.cuh"
#include "schedule/fixup.hpp"
#include "schedule/work_item.hpp"

namespace tessera::cuda {

// A 16-byte piece of a thread's partial sums. Piece i of thread t lies at (i·threads + t), so that
// a warp writes and reads 512 consecutive bytes.
template <class Accumulator>
struct alignas(16) FixupPiece {
  static constexpr int kValues = 16 / sizeof(Accumulator);
  Accumulator values[kValues];
};

namespace fixup_detail {

// Slots are written by other SMs during the launch: read them from the L2 cache.
template <class Accumulator>
__device__ inline FixupPiece<Accumulator> load_piece(const FixupPiece<Accumulator>* from) {
  const uint4 bits = __ldcg(reinterpret_cast<const uint4*>(from));
  FixupPiece<Accumulator> piece;
  memcpy(&piece, &bits, sizeof piece);
  return piece;
}

// What changes nothing when something is added to it, a zero's sign included.
template <class Accumulator>
__device__ inline Accumulator nothing() {
  return Accumulator(-0.0);
}

}  // namespace fixup_detail

// Turns this worker's partial sum into the tile's sum. Returns true in the one worker that goes on
// with it, false in those that are done with the tile. All `kThreads` threads call it; `any` is a
// barrier over them that tells each whether any of them passed true; `item_of` and `space_of` give
// the item and the workspace when asked, so that no register holds them meanwhile. A thread has
// kInFlight pieces of a partial on their way from the cache at a time.
template <int kThreads, int kInFlight = 4, class ItemOf, class SpaceOf, class Accumulator,
          int kCount, class AnyBarrier>
__device__ bool fix_up(ItemOf item_of, SpaceOf space_of, Accumulator (&sum)[kCount], int thread,
                       AnyBarrier any) {
  using Piece = FixupPiece<Accumulator>;
  static_assert(kCount % Piece::kValues == 0, "a thread's sums must fill 16-byte pieces");
  constexpr int kValues = Piece::kValues;
  constexpr int kPieces = kCount / kValues;
  constexpr int kBatch = kPieces % kInFlight == 0 ? kInFlight : kPieces % 4 == 0 ? 4 : 1;
  const auto slot = [&](std::int32_t peer) {
    return static_cast<Piece*>(space_of().slots) + item_of().slot(peer) * (kPieces * kThreads) +
           thread;
  };

  const auto add = [&](const Piece* from) {
#pragma unroll
    for (int first = 0; first < kPieces; first += kBatch) {
      Piece batch[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        batch[i] = fixup_detail::load_piece(from + (first + i) * kThreads);
      }
#pragma unroll
      for (int i = 0; i < kBatch * kValues; ++i) {
        sum[first * kValues + i] += batch[i / kValues].values[i % kValues];
      }
    }
  };

  for (FixupStep step(item_of().peer, item_of().peers); step.valid(); step.up()) {
    const auto counter = [&]() -> std::uint32_t* {
      const FixupSpace space = space_of();
      return &space.counters[step.counter(item_of(), space.counters_per_level)];
    };
    const auto others = static_cast<std::uint32_t>(step.children() - 1);

    Piece* const own = slot(step.peer());
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      Piece piece;
#pragma unroll
      for (int v = 0; v < kValues; ++v) piece.values[v] = sum[i * kValues + v];
      own[i * kThreads] = piece;
    }
    any(false);
    const bool last = any(thread == 0 && ptx::arrive_at_counter(counter()) == others);
    if (!last) return false;
    if (thread == 0) ptx::reset_counter(counter());

    // Two partials may be added either way round, so one of them can stay where it is. More are
    // added in the peers' order, this worker's own from its slot like the rest, to zeros that even
    // keep the sign of another.
    const bool is_pair = step.children() == 2;
    if (!is_pair) {
#pragma unroll
      for (Accumulator& s : sum) s = fixup_detail::nothing<Accumulator>();
    }
#pragma unroll 1
    for (int child = 0; child < step.children(); ++child) {
      if (!is_pair || child != step.my_child()) add(slot(step.child(child)));
    }
  }
  return true;
}

// The barriers fix_up takes: over the whole block, and over the threads of a named barrier.
struct BlockBarrier {
  __device__ bool operator()(bool mine) const { return __syncthreads_or(mine) != 0; }
};

template <int kBarrier, int kThreads>
struct NamedBarrier {
  __device__ bool operator()(bool mine) const {
    std::uint32_t any;
    asm volatile(
        "{\n"
        ".reg .pred mine, any;\n"
        "setp.ne.u32 mine, %1, 0;\n"
        "barrier.cta.red.or.pred any, %2, %3, mine;\n"
        "selp.u32 %0, 1, 0, any;\n"
        "}\n"
        : "=r"(any)
        : "r"(static_cast<std::uint32_t>(mine)), "n"(kBarrier), "n"(kThreads)
        : "memory");
    return any != 0;
  }
};

}  // namespace tessera::cuda
