// Who computes which share of a call's work: each share is taken once. Where as many threads came
// as were asked for, and shares are no more than they, each has one of its own and asks nobody.
// Elsewhere a thread takes its own first, which it finds in its caches where calls repeat, and then
// what others have left.
//
// Emerald Rapids, 2026-11. Two threads, 128³ in f32 by `tessera bench` beside peers, medians of six
// runs: 16.6 µs where shares went to whoever came first, and cores often took one another's half of
// C; 15.1 so. Asking, each of 16 threads for one share, takes 1.9 µs beside a fork and join of 4.4,
// for they come to one cache line in turn.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "cpu/threads.hpp"
#include "cpu/workspace.hpp"

namespace tessera::cpu {

class Claims {
 public:
  // `count` shares for on_threads(threads, …).
  Claims(std::int32_t count, int threads)
      : count_(count), threads_(threads), may_be_own_(count <= std::min(threads, kMostWanted)) {}

  static constexpr std::int32_t kNone = -1;

  // The calling thread's first share, and its next after `share`; kNone after its last.
  std::int32_t first() {
    if (!has_own()) return take(thread_number());
    return thread_number() < count_ ? thread_number() : kNone;
  }
  std::int32_t next(std::int32_t share) { return has_own() ? kNone : take(share + threads_); }

  // Whether nothing is left that the calling thread could take.
  bool has_none() const { return has_own() ? thread_number() >= count_ : first_left() == kNone; }

  // For a thread that cannot compute its share.
  void leave() {
    if (!has_own() || has_none()) return;
    mark(thread_number());
    some_left_.store(true, std::memory_order_relaxed);
  }

  // For the caller's thread after the call: whether shares were left, which it can take then.
  bool reopen() {
    if (!some_left_.load(std::memory_order_relaxed)) return false;
    may_be_own_ = false;
    for (std::atomic<std::uint64_t>& word : taken_) word = ~word;
    return true;
  }

 private:
  static constexpr std::int32_t kBits = 64;
  static constexpr std::int32_t kMostWanted = 4 * kBits;

  bool has_own() const { return may_be_own_ && team_size() == threads_; }

  // `wanted` where it is a share that nobody has taken, or else the first such. Of very many shares
  // always the first.
  std::int32_t take(std::int32_t wanted) {
    if (count_ > kMostWanted) {
      const std::int32_t share = next_.fetch_add(1, std::memory_order_acq_rel);
      return share < count_ ? share : kNone;
    }
    if (wanted < count_ && mark(wanted)) return wanted;
    for (std::int32_t share = first_left(); share != kNone; share = first_left()) {
      if (mark(share)) return share;
    }
    return kNone;
  }

  static std::size_t word_of(std::int32_t share) { return static_cast<std::size_t>(share / kBits); }

  // Whether no other thread had. Who finds nothing left has seen all that others did before they
  // took what they have (open_tiles.hpp asks for that).
  bool mark(std::int32_t share) {
    const std::uint64_t bit = std::uint64_t{1} << (share % kBits);
    return (taken_[word_of(share)].fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
  }

  std::int32_t first_left() const {
    if (count_ > kMostWanted) {
      const std::int32_t share = next_.load(std::memory_order_acquire);
      return share < count_ ? share : kNone;
    }
    for (std::int32_t base = 0; base < count_; base += kBits) {
      const std::int32_t share =
          base + std::countr_one(taken_[word_of(base)].load(std::memory_order_acquire));
      if (share < base + kBits) return share < count_ ? share : kNone;
    }
    return kNone;
  }

  const std::int32_t count_;
  const int threads_;
  bool may_be_own_;
  // Where each has its own, those that were left.
  std::array<std::atomic<std::uint64_t>, kMostWanted / kBits> taken_ = {};
  std::atomic<bool> some_left_{false};
  std::atomic<std::int32_t> next_{0};
};

// Calls f(shares, memory) on up to `threads` threads, each with `bytes` of its own panels, to
// compute the shares that it finds; `all_come`: also on those that find none. The caller's thread
// must have its memory already: it computes what threads that get none leave.
template <class F>
void share_out(std::int32_t count, int threads, std::size_t bytes, const F& f,
               bool all_come = false) {
  Claims shares(count, threads);
  auto work = [&] {
    if (shares.has_none() && !all_come) return;
    void* const memory = thread_panels().reserve(bytes);
    if (memory == nullptr && bytes > 0) return shares.leave();
    f(shares, memory);
  };
  on_threads(threads, work);
  if (shares.reopen()) work();
}

}  // namespace tessera::cpu
