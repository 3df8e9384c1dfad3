// The two ways to walk the tree of a tile's additions: peer by peer, and in one go.
#include "schedule/fixup.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tessera {
namespace {

std::vector<std::string> names_of(std::int32_t peers) {
  std::vector<std::string> names;
  for (std::int32_t peer = 0; peer < peers; ++peer) names.push_back(std::to_string(peer));
  return names;
}

std::string sum_of(const std::string& to, const std::string& from) {
  return "(" + to + "+" + from + ")";
}

// As items that arrive one after another do.
std::string sum_peer_by_peer(std::int32_t peers) {
  std::vector<std::string> slots = names_of(peers);
  std::map<std::int64_t, std::int32_t> arrived;
  for (std::int32_t peer = 0; peer < peers; ++peer) {
    WorkItem item;
    FixupStep step(peer, peers);
    for (; step.valid(); step.up()) {
      if (++arrived[step.counter(item, peers)] < step.children()) break;
      std::string& sum = slots[static_cast<std::size_t>(step.child(0))];
      for (std::int32_t c = 1; c < step.children(); ++c) {
        sum = sum_of(sum, slots[static_cast<std::size_t>(step.child(c))]);
      }
    }
    if (!step.valid()) return slots[static_cast<std::size_t>(step.peer())];
  }
  return "nobody was last";
}

TEST(FixUp, AdditionsInOneGoAreThoseOfThePeers) {
  for (const std::int32_t peers : {1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 65, 72, 100, 513, 4097}) {
    std::vector<std::string> slots = names_of(peers);
    for_each_addition(peers, [&](std::int32_t to, std::int32_t from) {
      std::string& sum = slots[static_cast<std::size_t>(to)];
      sum = sum_of(sum, slots[static_cast<std::size_t>(from)]);
    });
    EXPECT_EQ(slots.front(), sum_peer_by_peer(peers)) << peers;
  }
}

}  // namespace
}  // namespace tessera
