// The CUDA kernels. A worker is a cluster of blocks (one SM each) and block_m×block_n is what the
// whole cluster computes: 256×256 with cluster_m = 2 is two SMs with 128×256 each that share their
// blocks of B by multicast. Rows of the Hopper kernel that differ in the cluster or in what is
// swapped run the same code.
#include "core/catalogue.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/sm90_tiles.hpp"

namespace tessera {
namespace {

using enum ElementType;

// Staging for stores, barriers and the alignment of the stages; wide stages leave half the staging.
constexpr std::int64_t kSm90EpilogueBytes = 18 * 1024;

constexpr KernelSpeed kGeneralSpeed = {.main_loop_share = 0.21, .tile_seconds = 12.5e-6};
constexpr KernelSpeed kGeneralSmallSpeed = {.main_loop_share = 0.13, .tile_seconds = 3.5e-6};
constexpr KernelSpeed kOnlyOneSpeed = {.main_loop_share = 0.5, .tile_seconds = 10e-6};

// A block shape of the Hopper kernel, which way round it lies on C, and its cluster.
struct Sm90Row {
  Sm90Block block;
  bool swapped;
  Sm90Cluster cluster;
  std::string_view wins_at;
};

constexpr std::string_view kLargeWins = "large products: each block is read once for two SMs";
constexpr std::string_view kFillWins = "middle sizes, where this many tiles fill the SMs once";
constexpr std::string_view kSmallWins =
    "small products and short k, where larger tiles are too few";
constexpr std::string_view kFewWins = "few rows or columns: the other operand streams through once";
constexpr std::string_view kSharedWins =
    "small tiles, and rows that start anywhere: several SMs share loads";
constexpr std::string_view kLongWins = "long k under few tiles, where 64 rows fill the SMs once";
constexpr std::string_view kTurnsWins =
    "several tiles of short k a worker: one is stored while the next is multiplied";
constexpr std::string_view kAloneWins = "an odd number of tiles, of which none may be idle";

constexpr std::array kSm90Types = {ElementType::bf16, ElementType::f16};

constexpr Sm90Cluster kAlone{1, 1};
constexpr Sm90Cluster kDown{2, 1};    // the blocks share columns
constexpr Sm90Cluster kAcross{1, 2};  // the blocks share rows
constexpr Sm90Cluster kSquare{2, 2};
constexpr Sm90Cluster kFourDown{4, 1};
constexpr Sm90Cluster kFourAcross{1, 4};
constexpr Sm90Cluster kEightDown{4, 2};
constexpr Sm90Cluster kEightAcross{2, 4};

// Where the model sees no difference the first wins: few rows and small tiles alone, large in
// pairs.
constexpr std::array kSm90Rows = {
    Sm90Row{kSm90Block128x16, true, kAlone, kFewWins},
    Sm90Row{kSm90Block64x64, false, kAlone, kSmallWins},
    Sm90Row{kSm90Block128x32, true, kAlone, kFewWins},
    Sm90Row{kSm90Block128x64, true, kAlone, kFewWins},
    Sm90Row{kSm90Block128x64, false, kAlone, kSmallWins},
    Sm90Row{kSm90Block128x128, false, kAlone, kAloneWins},
    Sm90Row{kSm90Block128x128, true, kAlone, kAloneWins},
    Sm90Row{kSm90Block128x256, false, kDown, kLargeWins},
    Sm90Row{kSm90Block128x256, false, kAcross, kLargeWins},
    Sm90Row{kSm90Block128x256, true, kDown, kLargeWins},
    Sm90Row{kSm90Block128x256, true, kAcross, kLargeWins},
    Sm90Row{kSm90Block128x256, false, kAlone, kAloneWins},
    Sm90Row{kSm90Block128x256, true, kAlone, kAloneWins},
    Sm90Row{kSm90Block128x224, true, kDown, kFillWins},
    Sm90Row{kSm90Block128x224, true, kAcross, kFillWins},
    Sm90Row{kSm90Block128x224, false, kDown, kFillWins},
    Sm90Row{kSm90Block128x192, true, kAlone, kAloneWins},
    Sm90Row{kSm90Block128x192, true, kDown, kFillWins},
    Sm90Row{kSm90Block128x192, true, kAcross, kFillWins},
    Sm90Row{kSm90Block128x192, false, kDown, kFillWins},
    Sm90Row{kSm90Block128x160, true, kDown, kFillWins},
    Sm90Row{kSm90Block128x160, false, kDown, kFillWins},
    Sm90Row{kSm90Block128x128, false, kDown, kSmallWins},
    Sm90Row{kSm90Block128x128, false, kAcross, kSmallWins},
    Sm90Row{kSm90Block128x128InTurns, false, kAlone, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, true, kAlone, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, false, kDown, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, false, kAcross, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, true, kDown, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, true, kAcross, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, false, kEightAcross, kTurnsWins},
    Sm90Row{kSm90Block128x128InTurns, true, kEightAcross, kTurnsWins},
    Sm90Row{kSm90Block128x160InTurns, true, kDown, kTurnsWins},
    Sm90Row{kSm90Block128x96, true, kDown, kSmallWins},
    Sm90Row{kSm90Block128x96, true, kAcross, kSmallWins},
    Sm90Row{kSm90Block128x64, true, kDown, kSmallWins},
    Sm90Row{kSm90Block128x64, true, kAcross, kSmallWins},
    Sm90Row{kSm90Block64x64, false, kDown, kSmallWins},
    Sm90Row{kSm90Block64x64, false, kAcross, kSmallWins},
    Sm90Row{kSm90Block64x32, true, kAcross, kSmallWins},
    Sm90Row{kSm90Block64x192, false, kDown, kLongWins},
    Sm90Row{kSm90Block64x192, true, kDown, kLongWins},
    Sm90Row{kSm90Block64x32, true, kSquare, kSharedWins},
    Sm90Row{kSm90Block64x32, true, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block64x192, false, kSquare, kLongWins},
    Sm90Row{kSm90Block64x192, true, kSquare, kLongWins},
    Sm90Row{kSm90Block64x192, false, kFourDown, kLongWins},
    Sm90Row{kSm90Block64x192, true, kFourDown, kLongWins},
    Sm90Row{kSm90Block64x64, false, kFourDown, kSharedWins},
    Sm90Row{kSm90Block64x64, false, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block128x64, false, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block128x64, true, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block128x96, true, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block128x128, false, kFourDown, kSharedWins},
    Sm90Row{kSm90Block128x160, false, kSquare, kSharedWins},
    Sm90Row{kSm90Block128x160, false, kFourDown, kSharedWins},
    Sm90Row{kSm90Block128x160, false, kEightDown, kSharedWins},
    Sm90Row{kSm90Block128x160, false, kEightAcross, kSharedWins},
    Sm90Row{kSm90Block128x160, true, kFourDown, kSharedWins},
    Sm90Row{kSm90Block128x160, true, kFourAcross, kSharedWins},
    Sm90Row{kSm90Block128x192, true, kFourDown, kSharedWins},
    Sm90Row{kSm90Block128x192, false, kSquare, kSharedWins},
    Sm90Row{kSm90Block128x64, false, kSquare, kSharedWins},
    Sm90Row{kSm90Block128x64, false, kEightAcross, kSharedWins},
    Sm90Row{kSm90Block128x64, true, kEightAcross, kSharedWins},
    Sm90Row{kSm90Block128x96, true, kEightDown, kSharedWins},
    Sm90Row{kSm90Block128x96, true, kEightAcross, kSharedWins},
    Sm90Row{kSm90Block128x128, false, kEightDown, kSharedWins},
    Sm90Row{kSm90Block128x128, false, kEightAcross, kSharedWins},
};

// What starting clusters takes beyond blocks alone, which do not wait for one another before they
// load, and two sets of sums beyond one, by a fit to H200 measurements of 2026-11.
double start_of(const Sm90Row& row) {
  const int blocks = row.cluster.rows * row.cluster.cols;
  const double cluster = blocks == 1 ? 0 : blocks == 2 ? 0.4e-6 : blocks == 4 ? 0.2e-6 : 0.3e-6;
  return cluster + (row.block.in_turns ? 0.15e-6 : 0);
}

// Blocks of 128 by 128 reach so much of what wider ones do of the arithmetic rate, and pairs of
// blocks of 96 columns of what the model expects: H200, 2026-11.
constexpr double kSquareShare = 0.97;
constexpr double kPairOf96Share = 0.85;

double main_loop_share(const Sm90Row& row) {
  if (row.block.rows == 128 && row.block.cols == 128) return kSquareShare;
  const bool is_pair = row.cluster.rows * row.cluster.cols == 2;
  return is_pair && row.block == kSm90Block128x96 ? kPairOf96Share : 1;
}

// Rows that are compiled for groups as well. A single block that is not turned has tiles that all
// cost alike.
bool has_group_code(const Sm90Row& row) {
  constexpr std::array kForGroups = {kSm90Block128x64,         kSm90Block128x128,
                                     kSm90Block128x128InTurns, kSm90Block128x160InTurns,
                                     kSm90Block128x192,        kSm90Block128x256};
  return std::ranges::find(kForGroups, row.block) != kForGroups.end() &&
         (row.swapped || row.cluster.cols > 1);
}

// What one block computes, in C's orientation, then what was done to it.
std::string name_of_row(ElementType type, const TileConfig& tile) {
  const auto by = [](int p, int q) { return std::to_string(p) + "x" + std::to_string(q); };
  std::string name = "sm90_" + std::string(name_of(type)) + "_" +
                     by(tile.block_m / tile.cluster_m, tile.block_n / tile.cluster_n) + "x" +
                     std::to_string(tile.block_k);
  if (takes_turns(tile)) name += "_turns";
  if (tile.swap_operands) name += "_swapped";
  if (tile.cluster_m * tile.cluster_n > 1) name += "_" + by(tile.cluster_m, tile.cluster_n);
  return name;
}

KernelEntry sm90(std::string_view name, ElementType type, const Sm90Row& row) {
  return {.name = name,
          .device = MachineKind::gpu,
          .architecture = "sm_90",
          .a = type,
          .b = type,
          .multiplies = type,
          .tile = sm90_tile(row.block, row.cluster, row.swapped),
          .needs_tma = true,
          .wins_at = row.wins_at,
          .epilogue_bytes = kSm90EpilogueBytes,
          .speed = {.main_loop_share = main_loop_share(row), .launch_seconds = start_of(row)},
          .has_group_code = has_group_code(row),
          .is_for_layers = row.block == kSm90Block128x160InTurns,
          .reads_in_place = false,
          .interleaves = false,
          .widens = false,
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
          .multiplies = a,
          .tile = {.block_m = block_m, .block_n = block_n, .block_k = block_k, .stages = stages},
          .wins_at = wins_at,
          .speed = speed,
          .has_group_code = false,
          .is_for_layers = false,
          .reads_in_place = false,
          .interleaves = false,
          .widens = false,
          .multiplies_dots = false};
}

constexpr std::string_view kGeneralWins = "operands that TMA cannot take, and GPUs before Hopper";
constexpr std::string_view kGeneralSmallWins = "the same with few rows or columns";
constexpr std::string_view kOnlyOne = "the only GPU kernel of its type";

constexpr std::array kGeneralKernels = {
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
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const ElementType type : kSm90Types) {
      for (const Sm90Row& row : kSm90Rows) {
        made.push_back(name_of_row(type, sm90_tile(row.block, row.cluster, row.swapped)));
      }
    }
    return made;
  }();
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> made;
    auto name = names.begin();
    for (const ElementType type : kSm90Types) {
      for (const Sm90Row& row : kSm90Rows) made.push_back(sm90(*name++, type, row));
    }
    made.insert(made.end(), kGeneralKernels.begin(), kGeneralKernels.end());
    return made;
  }();
  return all;
}

}  // namespace tessera
