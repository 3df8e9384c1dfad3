#include "schedule/grouped.hpp"

namespace tessera {

HostIterationSpace::HostIterationSpace(std::span<const GemmShape> groups, const TileConfig& tile) {
  extents_.reserve(groups.size());
  for (const GemmShape& shape : groups) {
    const GroupExtent extent = make_extent(shape.m, shape.n, shape.k, tile.block_m, tile.block_n,
                                           tile.block_k, space_.tiles, space_.iterations);
    extents_.push_back(extent);
    space_.tiles += extent.tiles();
    space_.iterations += extent.tiles() * extent.iterations;
  }
  space_.groups = extents_.data();
  space_.group_count = static_cast<std::int32_t>(extents_.size());
}

}  // namespace tessera
