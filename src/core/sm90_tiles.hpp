// The tile shapes of the Hopper kernels, read by the catalogue and by the files that compile them.
#pragma once

#include "tessera/tile_config.hpp"

namespace tessera {

inline constexpr TileConfig kSm90Pair256x256 = {
    .block_m = 256, .block_n = 256, .block_k = 64, .stages = 4, .cluster_m = 2, .warpgroups = 2};
inline constexpr TileConfig kSm90Tile128x256 = {
    .block_m = 128, .block_n = 256, .block_k = 64, .stages = 4, .warpgroups = 2};
inline constexpr TileConfig kSm90Tile128x128 = {
    .block_m = 128, .block_n = 128, .block_k = 64, .stages = 6, .warpgroups = 2};
inline constexpr TileConfig kSm90Pair256x192 = {
    .block_m = 256, .block_n = 192, .block_k = 64, .stages = 4, .cluster_m = 2, .warpgroups = 2};
inline constexpr TileConfig kSm90Pair256x128 = {
    .block_m = 256, .block_n = 128, .block_k = 64, .stages = 6, .cluster_m = 2, .warpgroups = 2};
inline constexpr TileConfig kSm90Tile128x192 = {
    .block_m = 128, .block_n = 192, .block_k = 64, .stages = 4, .warpgroups = 2};
inline constexpr TileConfig kSm90Rows64 = {.block_m = 64,
                                           .block_n = 128,
                                           .block_k = 64,
                                           .stages = 8,
                                           .warpgroups = 2,
                                           .swap_operands = true};
inline constexpr TileConfig kSm90Rows32 = {.block_m = 32,
                                           .block_n = 128,
                                           .block_k = 64,
                                           .stages = 9,
                                           .warpgroups = 2,
                                           .swap_operands = true};
inline constexpr TileConfig kSm90Rows16 = {.block_m = 16,
                                           .block_n = 128,
                                           .block_k = 64,
                                           .stages = 10,
                                           .warpgroups = 2,
                                           .swap_operands = true};

}  // namespace tessera
