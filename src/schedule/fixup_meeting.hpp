// A meeting of the peers of one tile: the fix-up where they all come to their ends at about the
// same time and have nothing else to do, as the pieces of a long k. Each publishes its partial
// tile, counts itself in and stays until all have come; then each adds up a share of the tile, over
// all peers in their order, and stores it. The levels of fixup.hpp's tree follow one another; here
// is one of them, however many peers there are.
//
// Nobody depends on anybody who stays: one that has stayed long enough leaves, and then whoever
// counts in last does everything. So it cannot dead-lock, whichever workers run, in whatever order.
// Bits do not depend on who adds what, and are the tree's.
#pragma once

#include <cstdint>

#include "schedule/fixup.hpp"
#include "schedule/host_device.hpp"
#include "schedule/partition.hpp"

namespace tessera {

// Whether all workers come to their ends with one piece of a tile each, of so few that three levels
// of the tree hold them.
TESSERA_HD inline bool has_one_piece_each(const Partition& partition, std::int64_t tiles) {
  return partition.splits > 1 && partition.stream_tiles == 0 && partition.whole_tiles == 0 &&
         partition.splits <= kFixupFanIn * kFixupFanIn * kFixupFanIn &&
         tiles * partition.splits <= partition.workers;
}

// Part `part` of `parts` equal ones of a tile's additions; of none where there is nothing to do.
struct FixupShare {
  std::int32_t part = 0;
  std::int32_t parts = 0;

  // Of one of `each` equal parts of this part.
  TESSERA_HD FixupShare of_warps(std::int32_t each, std::int32_t number) const {
    return {part * each + number, parts * each};
  }

  // The first of `count` things that belong to this part; the next part's first is the end.
  TESSERA_HD std::int32_t begin_of(std::int32_t count) const {
    return static_cast<std::int32_t>(std::int64_t{count} * part / parts);
  }
  TESSERA_HD std::int32_t end_of(std::int32_t count) const {
    return static_cast<std::int32_t>(std::int64_t{count} * (part + 1) / parts);
  }
};

// What the tile's counter holds. It is 0 between launches.
//
//   before = counter += kArrival, with acquire and release;
//   until the counter is complete: look again, or change it to left() and go, if it is as it was;
//   share_of(before.staying(), …); of complete.staying() the last to have read it sets it to 0.
class FixupMeeting {
 public:
  // One more has come, and stays.
  static constexpr std::uint32_t kArrival = (1u << 15) + 1;

  TESSERA_HD explicit FixupMeeting(std::uint32_t bits) : bits_(bits) {}

  TESSERA_HD std::uint32_t bits() const { return bits_; }
  TESSERA_HD bool is_complete(std::int32_t peers) const {
    return static_cast<std::int32_t>(bits_ & kMask) == peers;
  }
  TESSERA_HD std::uint32_t staying() const { return bits_ >> 15 & kMask; }
  TESSERA_HD FixupMeeting with_one_more() const { return FixupMeeting(bits_ + kArrival); }
  // Somebody who stayed has left: from then on all is the last one's to do.
  TESSERA_HD FixupMeeting left() const { return FixupMeeting((bits_ - (1u << 15)) | kLeft); }

  // Of a complete counter, for the peer that found `place` others staying when it came.
  TESSERA_HD FixupShare share_of(std::uint32_t place, bool is_last) const {
    if ((bits_ & kLeft) != 0) return is_last ? FixupShare{0, 1} : FixupShare{};
    return {static_cast<std::int32_t>(place), static_cast<std::int32_t>(staying())};
  }

 private:
  static constexpr std::uint32_t kMask = (1u << 15) - 1;
  static constexpr std::uint32_t kLeft = 1u << 31;

  std::uint32_t bits_;
};

// What a peer takes along: its share, and of how many it is one who have to read the complete
// counter before that is set back; 0 where it left.
struct FixupSeat {
  FixupShare share;
  std::uint32_t readers = 0;
};

}  // namespace tessera
