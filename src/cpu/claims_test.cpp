#include "cpu/claims.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(Claims, GivesAThreadItsOwnFirst) {
  cpu::Claims shares(5);
  EXPECT_EQ(shares.take(3), 3);
  EXPECT_EQ(shares.take(3), 0);  // taken already: the first that is left
  EXPECT_EQ(shares.take(9), 1);  // there is none
  EXPECT_FALSE(shares.are_taken());
  EXPECT_EQ(shares.take(4), 4);
  EXPECT_EQ(shares.take(4), 2);
  EXPECT_TRUE(shares.are_taken());
  EXPECT_EQ(shares.take(0), cpu::Claims::kNone);
}

TEST(Claims, GivesEachShareOnce) {
  for (const std::int32_t count : {0, 1, 2, 63, 64, 65, 130, 256, 257, 1000}) {
    cpu::Claims shares(count);
    std::vector<std::atomic<int>> takers(static_cast<std::size_t>(count));
    constexpr std::int32_t kThreads = 4;
    std::vector<std::thread> threads;
    for (std::int32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        std::int32_t share = shares.take(thread);
        for (; share != cpu::Claims::kNone; share = shares.take(share + kThreads)) {
          takers[static_cast<std::size_t>(share)].fetch_add(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(shares.are_taken());
    for (const std::atomic<int>& taker : takers) EXPECT_EQ(taker.load(), 1) << count << " shares";
  }
}

}  // namespace
}  // namespace tessera
