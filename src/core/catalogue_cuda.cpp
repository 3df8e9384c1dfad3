// The compiled CUDA kernels. A worker is a cluster of blocks (one SM each) and block_m×block_n is
// what the whole cluster computes: 256×256 with cluster_m = 2 is two SMs with 128×256 each that
// share their blocks of B by multicast.
#include "core/catalogue.hpp"

#include <array>

#include "core/sm90_tiles.hpp"

namespace tessera {
namespace {

using enum ElementType;

constexpr std::string_view kPairWins = "large products: the pair reads each block of B once";
constexpr std::string_view kWideWins = "middle sizes, and few tiles with a long k";
constexpr std::string_view kSquareWins = "small products and short k, where wide tiles are too few";
constexpr std::string_view kRows64Wins = "33 to 64 rows: B streams through once, k is split";
constexpr std::string_view kRows32Wins = "17 to 32 rows: B streams through once, k is split";
constexpr std::string_view kRows16Wins = "up to 16 rows: B streams through once, k is split";

// Staging for stores, barriers and the alignment of the stages.
constexpr std::int64_t kSm90EpilogueBytes = 34 * 1024;

// Least squares over 120 products on an H200, 2026-11-20, errors of 1 to 6 %. What is not here
// behaves as the model expects of its tile.
constexpr KernelSpeed kPairSpeed = {.launch_seconds = 0.8e-6};
constexpr KernelSpeed kNarrowPairSpeed = {.main_loop_share = 0.87, .launch_seconds = 0.8e-6};
constexpr KernelSpeed kGeneralSpeed = {.main_loop_share = 0.21, .tile_seconds = 12.5e-6};
constexpr KernelSpeed kGeneralSmallSpeed = {.main_loop_share = 0.13, .tile_seconds = 3.5e-6};
constexpr KernelSpeed kOnlyOneSpeed = {.main_loop_share = 0.5, .tile_seconds = 10e-6};

constexpr KernelEntry sm90(std::string_view name, ElementType type, const TileConfig& tile,
                           std::string_view wins_at, const KernelSpeed& speed = {}) {
  return {.name = name,
          .device = MachineKind::gpu,
          .architecture = "sm_90",
          .a = type,
          .b = type,
          .tile = tile,
          .needs_tma = true,
          .wins_at = wins_at,
          .epilogue_bytes = kSm90EpilogueBytes,
          .speed = speed,
          .reads_in_place = false,
          .interleaves = false,
          .multiplies_dots = false};
}

// The kernel with ordinary loads: any strides, any alignment, any GPU from sm_80 on.
constexpr KernelEntry sm80(std::string_view name, ElementType a, ElementType b, int block_m,
                           int block_n, int block_k, int stages, std::string_view wins_at,
                           const KernelSpeed& speed) {
  return {.name = name,
          .device = MachineKind::gpu,
          .architecture = "sm_80",
          .a = a,
          .b = b,
          .tile = {.block_m = block_m, .block_n = block_n, .block_k = block_k, .stages = stages},
          .wins_at = wins_at,
          .speed = speed,
          .reads_in_place = false,
          .interleaves = false,
          .multiplies_dots = false};
}

constexpr std::string_view kGeneralWins = "operands that TMA cannot take, and GPUs before Hopper";
constexpr std::string_view kGeneralSmallWins = "the same with few rows or columns";
constexpr std::string_view kOnlyOne = "the only GPU kernel of its type";

constexpr std::array kKernels = {
    sm90("sm90_bf16_256x256x64_pair", bf16, kSm90Pair256x256, kPairWins, kPairSpeed),
    sm90("sm90_bf16_256x192x64_pair", bf16, kSm90Pair256x192, kPairWins, kPairSpeed),
    sm90("sm90_bf16_256x128x64_pair", bf16, kSm90Pair256x128, kPairWins, kNarrowPairSpeed),
    sm90("sm90_bf16_128x192x64", bf16, kSm90Tile128x192, kWideWins),
    sm90("sm90_bf16_128x256x64", bf16, kSm90Tile128x256, kWideWins),
    sm90("sm90_bf16_128x128x64", bf16, kSm90Tile128x128, kSquareWins),
    sm90("sm90_bf16_64x128x64_swapped", bf16, kSm90Rows64, kRows64Wins),
    sm90("sm90_bf16_32x128x64_swapped", bf16, kSm90Rows32, kRows32Wins),
    sm90("sm90_bf16_16x128x64_swapped", bf16, kSm90Rows16, kRows16Wins),
    sm90("sm90_f16_256x256x64_pair", f16, kSm90Pair256x256, kPairWins, kPairSpeed),
    sm90("sm90_f16_256x192x64_pair", f16, kSm90Pair256x192, kPairWins, kPairSpeed),
    sm90("sm90_f16_256x128x64_pair", f16, kSm90Pair256x128, kPairWins, kNarrowPairSpeed),
    sm90("sm90_f16_128x192x64", f16, kSm90Tile128x192, kWideWins),
    sm90("sm90_f16_128x256x64", f16, kSm90Tile128x256, kWideWins),
    sm90("sm90_f16_128x128x64", f16, kSm90Tile128x128, kSquareWins),
    sm90("sm90_f16_64x128x64_swapped", f16, kSm90Rows64, kRows64Wins),
    sm90("sm90_f16_32x128x64_swapped", f16, kSm90Rows32, kRows32Wins),
    sm90("sm90_f16_16x128x64_swapped", f16, kSm90Rows16, kRows16Wins),
    sm80("sm80_general_bf16_128x128x32", bf16, bf16, 128, 128, 32, 4, kGeneralWins, kGeneralSpeed),
    sm80("sm80_general_bf16_64x64x64", bf16, bf16, 64, 64, 64, 4, kGeneralSmallWins,
         kGeneralSmallSpeed),
    sm80("sm80_general_f16_128x128x32", f16, f16, 128, 128, 32, 4, kGeneralWins, kGeneralSpeed),
    sm80("sm80_general_f16_64x64x64", f16, f16, 64, 64, 64, 4, kGeneralSmallWins,
         kGeneralSmallSpeed),
    sm80("sm80_general_f32_128x128x16", f32, f32, 128, 128, 16, 3, kOnlyOne, kOnlyOneSpeed),
    sm80("sm80_general_f64_64x64x16", f64, f64, 64, 64, 16, 3, kOnlyOne, kOnlyOneSpeed),
    sm80("sm80_general_i8_128x128x64", i8, i8, 128, 128, 64, 4, kOnlyOne, kOnlyOneSpeed),
    sm80("sm80_general_u8_128x128x64", u8, i8, 128, 128, 64, 4, kOnlyOne, kOnlyOneSpeed),
};

}  // namespace

std::span<const KernelEntry> cuda_kernels() {
  return kKernels;
}

}  // namespace tessera
