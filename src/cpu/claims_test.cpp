#include "cpu/claims.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tessera {
namespace {

// The shares that each thread of a call gets, by its number.
std::vector<std::vector<std::int32_t>> taken_by(cpu::Claims& shares, int threads) {
  std::vector<std::vector<std::int32_t>> taken(static_cast<std::size_t>(threads));
  auto work = [&] {
    auto& mine = taken[static_cast<std::size_t>(cpu::thread_number())];
    std::int32_t share = shares.first();
    for (; share != cpu::Claims::kNone; share = shares.next(share)) mine.push_back(share);
  };
  cpu::on_threads(threads, work);
  return taken;
}

TEST(Claims, GivesEachThreadOfAWholeTeamOneOfItsOwn) {
  constexpr int kThreads = 4;
  for (const std::int32_t count : {1, 3, 4}) {
    cpu::Claims shares(count, kThreads);
    const auto taken = taken_by(shares, kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      const auto own = thread < count ? std::vector{thread} : std::vector<std::int32_t>{};
      EXPECT_EQ(taken[static_cast<std::size_t>(thread)], own) << count << " shares";
    }
    EXPECT_FALSE(shares.reopen());
  }
}

TEST(Claims, GivesTheCallersThreadWhatOthersLeave) {
  constexpr int kThreads = 4;
  constexpr std::int32_t kCount = 3;
  cpu::Claims shares(kCount, kThreads);
  auto work = [&] {
    // The last one has none to leave.
    if (cpu::thread_number() != 1) return shares.leave();
    EXPECT_EQ(shares.first(), 1);
  };
  cpu::on_threads(kThreads, work);
  ASSERT_TRUE(shares.reopen());
  EXPECT_EQ(shares.first(), 0);
  EXPECT_EQ(shares.next(0), 2);
  EXPECT_EQ(shares.next(2), cpu::Claims::kNone);
}

TEST(Claims, GivesAThreadOfASmallerTeamItsOwnFirst) {
  cpu::Claims shares(5, 3);  // of which this thread comes alone
  EXPECT_EQ(shares.first(), 0);
  EXPECT_EQ(shares.next(0), 3);
  EXPECT_EQ(shares.next(3), 1);  // there is no 6: the first that is left
  EXPECT_FALSE(shares.has_none());
  shares.leave();
  EXPECT_FALSE(shares.reopen());
  EXPECT_EQ(shares.next(1), 4);
  EXPECT_EQ(shares.next(4), 2);
  EXPECT_TRUE(shares.has_none());
  EXPECT_EQ(shares.next(2), cpu::Claims::kNone);
}

TEST(Claims, GivesEachShareOnce) {
  constexpr int kThreads = 4;
  for (const std::int32_t count : {0, 1, 2, 4, 63, 64, 65, 130, 256, 257, 1000}) {
    for (const bool whole : {true, false}) {
      // Asked for more threads than come, or for those.
      cpu::Claims shares(count, whole ? kThreads : kThreads + 1);
      std::vector<int> takers(static_cast<std::size_t>(count));
      for (const auto& mine : taken_by(shares, kThreads)) {
        for (const std::int32_t share : mine) ++takers[static_cast<std::size_t>(share)];
      }
      EXPECT_EQ(takers, std::vector<int>(takers.size(), 1)) << count << " shares";
    }
  }
}

}  // namespace
}  // namespace tessera
