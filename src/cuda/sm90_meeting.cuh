// The fix-up of a tile with many peers on a Hopper GPU: a warpgroup's part in their meeting
// (schedule/fixup_meeting.hpp), from its published sums to its share of C.
#pragma once

#include <cstdint>

#include "cuda/epilogue.cuh"
#include "cuda/fixup.cuh"
#include "cuda/ptx/arrival_counter.cuh"
#include "cuda/ptx/thread_in_block.cuh"
#include "cuda/ptx/trace_clocks.cuh"
#include "cuda/sm90_config.hpp"
#include "schedule/fixup.hpp"
#include "schedule/fixup_meeting.hpp"
#include "schedule/work_item.hpp"

namespace tessera::cuda {

// A thread's sums to its place in a slot, as fix_up publishes them; with this function there, ptxas
// spills in the kernels with most sums.
template <int kCount>
__device__ inline void publish(FixupPiece<float>* own, const float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
    own[i * kWarpgroupThreads] = {sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]};
  }
}

// How long a peer stays for the others, in cycles: 0.14 ms, for the pieces of a long k end tens of
// microseconds apart.
inline constexpr std::int64_t kStayCycles = 1 << 18;

// One thread's: counts its worker in and stays.
__device__ inline FixupSeat meet(std::uint32_t* counter, std::int32_t peers) {
  const FixupMeeting before(ptx::arrive_at_counter(counter, FixupMeeting::kArrival));
  FixupMeeting now = before.with_one_more();
  const bool is_last = now.is_complete(peers);
  const std::int64_t begin = ptx::cycles_of_sm();
  while (!now.is_complete(peers)) {
    now = FixupMeeting(ptx::look_at_counter(counter));
    if (!now.is_complete(peers) && ptx::cycles_of_sm() - begin > kStayCycles &&
        atomicCAS(counter, now.bits(), now.left().bits()) == now.bits()) {
      return {};
    }
  }
  return {now.share_of(before.staying(), is_last), now.staying()};
}

// When the share is done, so that nobody waits for it: the next counter counts those who have read
// the complete one, and the last of them sets that back.
__device__ inline void leave(std::uint32_t* counter, std::uint32_t readers) {
  if (readers == 0) return;
  if (readers == 1 || atomicInc(counter + 1, readers - 1) == readers - 1) {
    ptx::reset_counter(counter);
  }
}

// A lane's sums in wgmma's layout of 8 columns of 16 rows, of which the first are at (row, col), to
// C. So little of it needs no staging.
template <ElementType kType>
__device__ inline void store_piece(const FixupPiece<float>& sums, float alpha,
                                   const GroupOperands& c, std::int64_t row, std::int64_t col,
                                   int lane) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t r = row + lane / 4 + i / 2 * 8;
    const std::int64_t at = col + lane % 4 * 2 + i % 2;
    if (r >= c.m || at >= c.n) continue;
    store_element(c.c, r * c.c_row_stride + at * c.c_col_stride, kType, alpha * sums.values[i]);
  }
}

__device__ inline void add_to(FixupPiece<float>& sum, const FixupPiece<float>& term) {
#pragma unroll
  for (int v = 0; v < 4; ++v) sum.values[v] += term.values[v];
}

// A sum over all peers in the order of fixup.hpp's tree, given the sums over eight after eight of
// them.
class TreeSum {
 public:
  __device__ void add(const FixupPiece<float>& eight, int first_peer, int peers) {
    constexpr int kOfEights = kFixupFanIn * kFixupFanIn;
    if (first_peer % kOfEights == 0) {
      eights_ = eight;
    } else {
      add_to(eights_, eight);
    }
    const int next = first_peer + kFixupFanIn;
    if (next < peers && next % kOfEights != 0) return;
    if (first_peer < kOfEights) {
      total_ = eights_;
    } else {
      add_to(total_, eights_);
    }
  }
  __device__ const FixupPiece<float>& total() const { return total_; }

 private:
  FixupPiece<float> eights_;
  FixupPiece<float> total_;
};

// A share of a tile's pieces, which every peer has published alike: each is added up by the 32
// lanes of a warp and given to `store`. Piece i is warp i / kPieces's i mod kPieces-th. Sixteen
// partials are on their way from the cache at a time, as registers allow: of kSlices pieces.
template <int kSlices, int kPieces, class Store>
__device__ __forceinline__ void add_slices(const FixupPiece<float>* slots, const WorkItem& item,
                                           const FixupShare& share, Store store) {
  using Piece = FixupPiece<float>;
  constexpr int kPeers = 16 / kSlices;
  constexpr int kSlotPieces = kPieces * kWarpgroupThreads;
  const Piece* const slot = slots + item.slot(0) * kSlotPieces + ptx::thread_in_block() % 32;
  const int end = share.end_of(4 * kPieces);
#pragma unroll 1
  for (int at = share.begin_of(4 * kPieces); at < end; at += kSlices) {
    const auto offset = [&](int i) {
      const int piece = min(at + i, end - 1);
      return piece % kPieces * kWarpgroupThreads + piece / kPieces * 32;
    };
    TreeSum sums[kSlices];
#pragma unroll 1
    for (int first = 0; first < item.peers; first += kPeers) {
      Piece batch[kPeers][kSlices];
#pragma unroll
      for (int p = 0; p < kPeers; ++p) {
#pragma unroll
        for (int i = 0; i < kSlices; ++i) {
          // A load that depends on a condition is not issued together with the others.
          const int peer = min(first + p, item.peers - 1);
          batch[p][i] = fixup_detail::load_piece(slot + peer * kSlotPieces + offset(i));
        }
      }
#pragma unroll
      for (int eight = 0; eight < kPeers; eight += kFixupFanIn) {
        if (first + eight >= item.peers) break;
#pragma unroll
        for (int i = 0; i < kSlices; ++i) {
          Piece sum = batch[eight][i];
#pragma unroll
          for (int p = eight + 1; p < min(eight + kFixupFanIn, kPeers); ++p) {
            if (first + p < item.peers) add_to(sum, batch[p][i]);
          }
          sums[i].add(sum, first + eight, item.peers);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      if (at + i < end) store(at + i, sums[i].total());
    }
  }
}

// Many peers make many partials of a piece, few peers many pieces.
template <int kPieces, class Store>
__device__ __forceinline__ void add_pieces(const FixupPiece<float>* slots, const WorkItem& item,
                                           const FixupShare& share, Store store) {
  if (item.peers <= 4) {
    add_slices<4, kPieces>(slots, item, share, store);
  } else if (item.peers <= 8) {
    add_slices<2, kPieces>(slots, item, share, store);
  } else {
    add_slices<1, kPieces>(slots, item, share, store);
  }
}

}  // namespace tessera::cuda
