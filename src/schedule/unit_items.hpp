// The WorkItems of a partition's units by the shortest way: for one product with no stream region,
// in linear or swizzled order, and with small numbers. Worker w's items are units w, w + workers, …
// A kernel that starts with cold caches waits for every line of code, so an item is a handful of
// multiplications. All else is items_of's (partition.hpp).
#pragma once

#include <cstdint>

#include "schedule/host_device.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "schedule/work_item.hpp"

namespace tessera {

// Division by a number that the host knows: the high half of a product, exact where a·divisor fits
// 32 bits.
struct Reciprocal {
  std::uint32_t divisor = 1;
  std::uint32_t factor = 0;  // ⌈2³² / divisor⌉, unused for 1

  static Reciprocal of(std::uint32_t divisor) {
    const auto factor = ((std::uint64_t{1} << 32) + divisor - 1) / divisor;
    return {divisor, static_cast<std::uint32_t>(factor)};
  }
  TESSERA_HD std::uint32_t divide(std::uint32_t a) const {
    const auto high = static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * factor >> 32);
    return divisor == 1 ? a : high;
  }
};

struct UnitItems {
  std::uint32_t count = 0;  // 0 where there is no such way
  std::uint32_t splits = 1;
  std::uint32_t each = 0;  // iterations of a piece; the first `longer` pieces have one more
  std::uint32_t longer = 0;
  Reciprocal tiles;
  // Tiles come in bands of rows: the order's, or single rows. The last band may have fewer.
  Reciprocal tiles_of_band;
  Reciprocal rows_of_band;
  Reciprocal rows_of_last;
  std::uint32_t full_bands = 0;

  TESSERA_HD WorkItem of(std::uint32_t unit) const {
    const std::uint32_t piece = tiles.divide(unit);
    const std::uint32_t tile = unit - piece * tiles.divisor;
    const std::uint32_t band = tiles_of_band.divide(tile);
    const std::uint32_t within = tile - band * tiles_of_band.divisor;
    const Reciprocal rows = band < full_bands ? rows_of_band : rows_of_last;
    const std::uint32_t col = rows.divide(within);
    const std::uint32_t begin = piece * each + (piece < longer ? piece : longer);

    WorkItem item;
    item.tile_m =
        static_cast<std::int32_t>(band * rows_of_band.divisor + within - col * rows.divisor);
    item.tile_n = static_cast<std::int32_t>(col);
    item.k_begin = static_cast<std::int32_t>(begin);
    item.k_end = static_cast<std::int32_t>(begin + each + (piece < longer ? 1 : 0));
    item.peers = static_cast<std::int32_t>(splits);
    item.peer = static_cast<std::int32_t>(piece);
    item.counter = std::int64_t{tile * splits};
    item.first_slot = item.counter;
    item.next_slot = item.counter + 1;
    return item;
  }
};

inline UnitItems unit_items(const IterationSpace& space, const Partition& partition) {
  constexpr std::int64_t kSmall = 1 << 15;
  if (space.group_count != 1 || partition.stream_tiles > 0 ||
      partition.order == TileOrder::hilbert || space.tiles == 0 || space.tiles > kSmall ||
      partition.splits > kSmall || space.tiles * partition.splits > kSmall ||
      space.groups[0].iterations < partition.splits) {
    return {};
  }
  const GroupExtent& extent = space.groups[0];
  const auto small = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::uint32_t grid_m = small(extent.grid_m);
  const std::uint32_t band =
      partition.order == TileOrder::swizzle && partition.group_m < extent.grid_m
          ? small(partition.group_m)
      : partition.order == TileOrder::swizzle ? grid_m
                                              : 1;
  UnitItems items;
  items.splits = small(partition.splits);
  items.count = small(space.tiles) * items.splits;
  items.each = small(extent.iterations) / items.splits;
  items.longer = small(extent.iterations) % items.splits;
  items.tiles = Reciprocal::of(small(space.tiles));
  items.tiles_of_band = Reciprocal::of(band * small(extent.grid_n));
  items.rows_of_band = Reciprocal::of(band);
  items.full_bands = grid_m / band;
  items.rows_of_last = Reciprocal::of(grid_m % band == 0 ? band : grid_m % band);
  return items;
}

}  // namespace tessera
