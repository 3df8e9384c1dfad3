// What is left of the tiles that threads are at, so that one that finds nothing else to do takes a
// part of another's. Equal tiles make workers end together only where cores are equally fast, and
// they are not: another guest's thread runs on the same core, or a core is a small one.
//
// A part of a tile is some of its units, which are rows or columns (shared_units.hpp), from a pass
// on; a pass walks over all units that are left, and adds a block of k to their sums. What is left
// of a thread's part is one word, so that one exchange hands units over, and a word that changed in
// the meantime and changed back says the same as before. Nobody waits for what was taken: the call
// ends when all threads have nothing to do.
//
// The bits of C do not depend on who computes a row or column: each of its elements is the same
// chain of multiply-adds along k.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/cache_line.hpp"

namespace tessera::cpu {

struct TilePart {
  std::uint32_t tile = 0;
  int pass = 0;
  int begin = 0;  // units [begin, end)
  int end = 0;

  friend bool operator==(const TilePart&, const TilePart&) = default;
};

class OpenTiles {
  static constexpr int kUnitBits = 10;
  static constexpr int kPassBits = 12;
  static constexpr std::uint64_t kUnitMask = (1 << kUnitBits) - 1;
  static constexpr std::uint64_t kPassMask = (1 << kPassBits) - 1;

 public:
  static constexpr int kMostPasses = 1 << kPassBits;
  static constexpr int kMostUnits = (1 << kUnitBits) - 1;

  // May throw std::bad_alloc. `threads`: numbers that callers come with, each its own; all are
  // waited for until they close.
  explicit OpenTiles(int threads)
      : threads_(threads), parts_(std::make_unique<Part[]>(static_cast<std::size_t>(threads))) {
    for (int thread = 0; thread < threads; ++thread) open(thread, kComing);
  }

  int threads() const { return threads_; }

  // Where the thread collects sums of tiles of its own that do not lie in C. Others who take over
  // parts of such a tile go on in there: they only come when all tiles are somebody's, so that
  // nobody begins another of its own.
  void collect_in(int thread, unsigned char* sums) {
    parts_[static_cast<std::size_t>(thread)].sums.store(sums, std::memory_order_relaxed);
  }
  unsigned char* sums_of(std::uint32_t tile) const {
    for (int thread = 0; thread < threads_; ++thread) {
      const Part& part = parts_[static_cast<std::size_t>(thread)];
      if (part.own_tile.load(std::memory_order_acquire) == tile) {
        return part.sums.load(std::memory_order_relaxed);
      }
    }
    return nullptr;
  }

  // The thread is at a tile of its own now, of so many units.
  void open_own(int thread, std::uint32_t tile, int units) {
    parts_[static_cast<std::size_t>(thread)].own_tile.store(tile, std::memory_order_release);
    open(thread, {tile, 0, 0, units});
  }

  // The thread is at this part now, and has taken none of its units yet.
  void open(int thread, const TilePart& part) {
    word(thread).store(pack(part), std::memory_order_release);
  }

  // For the thread whose part it is: the first of at most `most` units that are its own now, and
  // how many; 0 where the pass is over. Of what is left it takes half, so that there is
  // something to take over until shortly before the end.
  int take(int thread, int most, int& first) {
    std::uint64_t seen = word(thread).load(std::memory_order_relaxed);
    for (;;) {
      TilePart part = unpack(seen);
      const int left = part.end - part.begin;
      if (left == 0) return 0;
      const int count = std::clamp((left + 1) / 2, 1, most);
      first = part.begin;
      part.begin += count;
      if (word(thread).compare_exchange_weak(seen, pack(part), std::memory_order_relaxed)) {
        return count;
      }
    }
  }

  // And the end of what is left to it.
  int end(int thread) const { return unpack(word(thread).load(std::memory_order_relaxed)).end; }

  // The next pass, from its first unit on. Only after take() has returned 0.
  void start_pass(int thread, int first) {
    TilePart part = unpack(word(thread).load(std::memory_order_relaxed));
    ++part.pass;
    part.begin = std::min(first, part.end);
    open(thread, part);
  }

  // The thread has no part and will not open one by itself.
  void close(int thread) { open(thread, {}); }

  // What take_over found.
  enum class Found : std::uint8_t {
    part,
    nothing_yet,  // but a thread may start another pass, or open a tile
    nothing,
  };

  // Half of what is left of the part that has most units left.
  Found take_over(TilePart& part) {
    for (;;) {
      int most = 0;
      int from = -1;
      bool is_any_open = false;
      std::uint64_t seen = 0;
      for (int thread = 0; thread < threads_; ++thread) {
        const std::uint64_t here = word(thread).load(std::memory_order_acquire);
        const TilePart open = unpack(here);
        is_any_open |= open.end > 0;
        if (open.end - open.begin <= most) continue;
        most = open.end - open.begin;
        from = thread;
        seen = here;
      }
      if (from < 0) return is_any_open ? Found::nothing_yet : Found::nothing;
      part = unpack(seen);
      TilePart rest = part;
      rest.end = part.end - (most + 1) / 2;
      part.begin = rest.end;
      if (word(from).compare_exchange_strong(seen, pack(rest), std::memory_order_acq_rel)) {
        return Found::part;
      }
    }
  }

 private:
  struct alignas(kCacheLine) Part {
    std::atomic<std::uint64_t> word{0};
    std::atomic<std::int64_t> own_tile{-1};  // the last one
    std::atomic<unsigned char*> sums{nullptr};
  };

  // Of a thread that has not come: nothing to take, but open.
  static constexpr TilePart kComing = {0, 0, 1, 1};

  static std::uint64_t pack(const TilePart& part) {
    return (static_cast<std::uint64_t>(part.tile) << (kPassBits + 2 * kUnitBits)) |
           (static_cast<std::uint64_t>(part.pass) << (2 * kUnitBits)) |
           (static_cast<std::uint64_t>(part.begin) << kUnitBits) |
           static_cast<std::uint64_t>(part.end);
  }
  static TilePart unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> (kPassBits + 2 * kUnitBits)),
            static_cast<int>(word >> (2 * kUnitBits) & kPassMask),
            static_cast<int>(word >> kUnitBits & kUnitMask), static_cast<int>(word & kUnitMask)};
  }

  std::atomic<std::uint64_t>& word(int thread) {
    return parts_[static_cast<std::size_t>(thread)].word;
  }
  const std::atomic<std::uint64_t>& word(int thread) const {
    return parts_[static_cast<std::size_t>(thread)].word;
  }

  const int threads_;
  std::unique_ptr<Part[]> parts_;
};

}  // namespace tessera::cpu
