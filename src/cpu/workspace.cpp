#include "cpu/workspace.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "cpu/cache_line.hpp"
#include "cpu/split_tiles.hpp"
#include "tessera/error.hpp"

namespace tessera::cpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

// What allocate_pages takes for so many bytes.
std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, bytes >= kHugePage ? kHugePage : kPage);
}

}  // namespace

WorkspaceLayout workspace_layout(const Plan& plan, const Partition& partition, std::int64_t tiles) {
  WorkspaceLayout layout;
  layout.slots = partial_slots(partition, tiles);
  layout.counters = arrival_counters(partition, tiles);
  if (layout.slots == 0) return layout;
  layout.tiles = split_tiles(partition, tiles);
  // Both sides padded, because a tile may be computed turned round.
  layout.slot_bytes = padded_columns(plan.tile.block_m) * padded_columns(plan.tile.block_n) *
                      size_of(accumulator_of(plan.problem.types));
  const double bytes =
      static_cast<double>(layout.slots) * static_cast<double>(layout.slot_bytes) +
      static_cast<double>(layout.tiles + layout.counters) * static_cast<double>(sizeof(OpenSplit));
  if (bytes >= kUncountableBytes) {
    throw Error(ErrorCode::out_of_memory, "workspace", "take less than 2^62 bytes",
                std::to_string(layout.slots) + " partial tiles of " +
                    std::to_string(layout.slot_bytes) + " bytes",
                "use fewer splits or workers, or smaller tiles");
  }
  // One line more, to start on a line in.
  layout.bytes = static_cast<std::size_t>(layout.slots * layout.slot_bytes) +
                 round_up(SplitTiles::bytes(layout.counters, layout.tiles), kCacheLine) +
                 kCacheLine;
  return layout;
}

void* WorkspaceLayout::split_tiles_in(unsigned char* workspace) const {
  void* at = workspace + slots * slot_bytes;
  std::size_t room = kCacheLine + SplitTiles::bytes(counters, tiles);
  return std::align(kCacheLine, SplitTiles::bytes(counters, tiles), at, room);
}

Scratch::~Scratch() {
  std::free(data_);
}

void* allocate_pages(std::size_t bytes) {
  const std::size_t size = whole_pages(bytes);
  const bool is_large = size >= kHugePage;
  void* const data = std::aligned_alloc(is_large ? kHugePage : kPage, size);
  if (data != nullptr && is_large) madvise(data, size, MADV_HUGEPAGE);
  return data;
}

void* Scratch::reserve(std::size_t bytes) {
  if (bytes <= size_) return data_;
  std::free(data_);
  data_ = allocate_pages(bytes);
  size_ = data_ != nullptr ? whole_pages(bytes) : 0;
  return data_;
}

Scratch& thread_panels() {
  thread_local Scratch scratch;
  return scratch;
}

Scratch& thread_workspace() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace tessera::cpu
