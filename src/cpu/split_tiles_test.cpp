// Who adds up the tiles that items share (split_tiles.hpp), and in which strips (strips.hpp).
#include "cpu/split_tiles.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "cpu/kernels.hpp"
#include "cpu/strips.hpp"

namespace tessera {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::unique_ptr<void, Free> memory_of(std::int64_t counters, std::int64_t tiles) {
  const std::size_t bytes =
      cpu::line_up(static_cast<std::int64_t>(cpu::SplitTiles::bytes(counters, tiles)));
  return std::unique_ptr<void, Free>(std::aligned_alloc(cpu::kCacheLine, bytes));
}

WorkItem item_of(std::int32_t tile, std::int32_t peer, std::int32_t peers) {
  WorkItem item;
  item.tile_m = tile;
  item.peer = peer;
  item.peers = peers;
  item.counter = std::int64_t{tile} * peers;
  return item;
}

TEST(SplitTiles, OpenWithTheirLastItem) {
  const auto memory = memory_of(6, 2);
  cpu::SplitTiles tiles(memory.get(), 6, 2, 1);
  EXPECT_FALSE(tiles.arrive(item_of(0, 2, 3)));
  EXPECT_FALSE(tiles.arrive(item_of(1, 0, 3)));
  EXPECT_FALSE(tiles.arrive(item_of(1, 1, 3)));
  EXPECT_EQ(tiles.opened(0), nullptr);
  EXPECT_TRUE(tiles.arrive(item_of(1, 2, 3)));
  cpu::OpenSplit& open = tiles.open(item_of(1, 2, 3), 0, 2);
  ASSERT_EQ(tiles.opened(0), &open);
  EXPECT_EQ(tiles.opened(1), nullptr);
  EXPECT_EQ(tiles.opened(2), nullptr);
  EXPECT_EQ(open.item().tile_m, 1);
  EXPECT_EQ(open.take(), 0);
  EXPECT_TRUE(open.has_strips());
  EXPECT_EQ(open.take(), 1);
  EXPECT_FALSE(open.has_strips());
  EXPECT_EQ(open.take(), cpu::OpenSplit::kNone);
  EXPECT_FALSE(tiles.are_all_done());
  tiles.leave();
  EXPECT_TRUE(tiles.are_all_done());
}

// Four threads arrive with the items of a hundred tiles, and look for strips meanwhile.
TEST(SplitTiles, EachStripIsTakenOnce) {
  constexpr std::int32_t kTiles = 100;
  constexpr std::int32_t kPeers = 4;
  constexpr int kStrips = 7;
  const auto memory = memory_of(kTiles * kPeers, kTiles);
  cpu::SplitTiles tiles(memory.get(), kTiles * kPeers, kTiles, kPeers);
  std::vector<std::atomic<int>> taken(kTiles * kStrips);
  std::vector<int> partial(kTiles * kPeers, 0);  // written before its item arrives
  std::atomic<int> missing{0};
  const auto add = [&](cpu::OpenSplit& open) {
    for (int strip = open.take(); strip != cpu::OpenSplit::kNone; strip = open.take()) {
      const std::int32_t tile = open.item().tile_m;
      ++taken[static_cast<std::size_t>(tile * kStrips + strip)];
      for (std::int32_t peer = 0; peer < kPeers; ++peer) {
        missing += partial[static_cast<std::size_t>(tile * kPeers + peer)] == 0 ? 1 : 0;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int32_t peer = 0; peer < kPeers; ++peer) {
      threads.emplace_back([&, peer] {
        for (std::int32_t tile = 0; tile < kTiles; ++tile) {
          partial[static_cast<std::size_t>(tile * kPeers + peer)] = 1;
          const WorkItem item = item_of(tile, peer, kPeers);
          if (tiles.arrive(item)) add(tiles.open(item, peer, kStrips));
        }
        tiles.leave();
        for (std::int64_t i = 0; i < kTiles;) {
          cpu::OpenSplit* open = tiles.opened(i);
          if (open == nullptr) continue;  // some thread is about to open it
          add(*open);
          ++i;
        }
      });
    }
  }
  for (const std::atomic<int>& count : taken) EXPECT_EQ(count, 1);
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(tiles.are_all_done());
}

// Whatever C is like, strips cover a tile once, and those of a C with dense columns whole lines.
TEST(SplitTiles, StripsCoverTheTile) {
  const cpu::KernelCode* code = cpu::find_code("cpu_scalar_f32");
  ASSERT_NE(code, nullptr);
  for (const bool by_columns : {false, true}) {
    for (const std::int64_t rows : {1, 3, 13, 64, 700}) {
      for (const std::int64_t cols : {1, 17, 500, 513, 3000}) {
        for (const std::int32_t peers : {2, 16, 300}) {
          cpu::Product product;
          product.code = code;
          product.c = {nullptr,         rows, cols, by_columns ? 1 : cols, by_columns ? rows : 1,
                       ElementType::f32};
          const cpu::TileExtent tile{5, 7, rows, cols};
          const cpu::Strips strips = cpu::strips_of(product, tile, peers);
          std::vector<int> covered(static_cast<std::size_t>(rows * cols), 0);
          for (int i = 0; i < strips.count(); ++i) {
            const cpu::TileExtent strip = strips.strip(i, tile);
            ASSERT_GT(strip.rows * strip.cols, 0);
            EXPECT_TRUE(strip.col % 16 == 0);
            if (by_columns && rows > 1) {
              EXPECT_TRUE(strip.row % 16 == 0);
            }
            for (std::int64_t row = strip.row; row < strip.row + strip.rows; ++row) {
              for (std::int64_t col = strip.col; col < strip.col + strip.cols; ++col) {
                ++covered[static_cast<std::size_t>(row * cols + col)];
              }
            }
          }
          for (const int count : covered) ASSERT_EQ(count, 1) << rows << "×" << cols;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
