// The CPU half of the catalogue: one row per microkernel and instruction set, the widest first. The
// code behind each row is found by its name in src/cpu/kernels.cpp. The portable rows end the list:
// they run anywhere and are what the others are compared with.
#include <array>

#include "core/catalogue.hpp"
#include "core/tile_registers_rule.hpp"

namespace tessera {
namespace {

using enum ElementType;

constexpr KernelEntry row(std::string_view name, std::string_view architecture, ElementType a,
                          ElementType b, int mr, int nr, std::string_view wins_at,
                          const KernelSpeed& speed = {}) {
  const bool has_vectors = architecture == "avx2" || architecture == "avx512";
  const bool is_float = a == f32 || a == f64;
  const bool has_own = architecture == "amx" || architecture == "avx512_bf16";
  const int parts = architecture != "amx" ? 1 : a == f16 ? 2 : a == f32 ? 3 : 1;
  const bool splits = parts > 1;
  const bool by_residues = architecture == "amx" && a == f64;
  const bool widens = (a == f16 || a == bf16) && !has_own;
  const bool has_groups = architecture == "avx512_bf16" || architecture == "avx512_vnni";
  TileConfig tile;
  tile.mr = mr;
  tile.nr = nr;
  return {.name = name,
          .device = MachineKind::cpu,
          .architecture = architecture,
          .a = a,
          .b = b,
          .multiplies = splits        ? bf16
                        : by_residues ? i8
                        : widens      ? f32
                                      : a,
          // Of three parts six: the others are below f32's precision.
          .products = parts == 3    ? 6
                      : by_residues ? kModuliOfF64
                                    : parts * parts,
          .tile = tile,
          .wins_at = wins_at,
          .speed = speed,
          // As packed. One thread, 2026-11, twice as deep panels over these: Emerald Rapids, bf16
          // 16×4096×4096 1.28, f16 17×4096×4096 1.17, 32×4096×4096 1.39, 24×1000×1000 1.00, 1500³
          // 0.99; Zen 3, bf16 17×4096×4096 1.16 to 1.52, 64×4096×4096 1.17 to 1.27,
          // 100×2000×2000 1.13, 24×1000×1000 0.95, 1500³ 0.98.
          .packed_size = splits        ? parts * size_of(bf16)
                         : by_residues ? kModuliOfF64
                         : widens      ? size_of(f32)
                                       : size_of(a),
          .reads_in_place = is_float && !splits && !by_residues,
          .interleaves = has_groups,
          // Tile registers and portable code convert while they pack.
          .widens = has_vectors && !is_float,
          // Groups of k that the instruction takes lie together along k; others are widened.
          .multiplies_dots = has_groups || has_vectors};
}

// One core of a Granite Rapids, 2026-11, of 3.6 TFLOP/s in bf16, without packing: 256³
// 1.9, 512³ 1.6, 2048³ and 4096³ 1.4 to 1.5, where C and B's panels wait for the last cache.
constexpr KernelSpeed kAmxSpeed = {.main_loop_share = 0.6};
// Four products for each pair of loads: of 0.9 TFLOP/s in f16 512³ makes 0.7, 2048³ 0.6; of f32
// six, of 0.6 1024³ makes 0.36 with packing, 2048³ 0.32.
constexpr KernelSpeed kAmxSpeedOfParts = {.main_loop_share = 0.7};
// Of 0.39 TFLOP/s in f64 the products of 1024³ make 0.26, and all of it 0.16.
constexpr KernelSpeed kAmxSpeedOfResidues = {.main_loop_share = 0.8};

constexpr std::array kKernels = {
    row("cpu_amx_bf16", "amx", bf16, bf16, 32, 32,
        "bf16 where tile registers exist: 1024 bits wide", kAmxSpeed),
    row("cpu_amx_f16", "amx", f16, f16, 32, 32,
        "f16 where tile registers exist, in two parts of bf16", kAmxSpeedOfParts),
    row("cpu_amx_f32", "amx", f32, f32, 32, 32,
        "f32 where tile registers exist, in three parts of bf16", kAmxSpeedOfParts),
    row("cpu_amx_f64", "amx", f64, f64, 32, 32,
        "f64 where tile registers exist, by residues of 8 bits", kAmxSpeedOfResidues),
    row("cpu_amx_u8", "amx", u8, i8, 32, 32, "u8·i8 where tile registers exist", kAmxSpeed),
    row("cpu_amx_i8", "amx", i8, i8, 32, 32, "i8·i8 where tile registers exist", kAmxSpeed),
    row("cpu_avx512bf16_bf16", "avx512_bf16", bf16, bf16, 12, 32,
        "bf16: two products a lane; flushes subnormal inputs and sums"),
    row("cpu_avx512vnni_u8", "avx512_vnni", u8, i8, 12, 32, "u8·i8: four products a lane"),
    row("cpu_avx512vnni_i8", "avx512_vnni", i8, i8, 12, 32, "i8·i8: four products a lane"),
    row("cpu_avx512_f32", "avx512", f32, f32, 12, 32, "f32 of any shape"),
    row("cpu_avx512_f64", "avx512", f64, f64, 12, 16, "f64 of any shape"),
    row("cpu_avx512_f16", "avx512", f16, f16, 12, 32, "f16, widened to f32"),
    row("cpu_avx512_bf16", "avx512", bf16, bf16, 12, 32,
        "bf16, widened to f32: without bf16 instructions or beside tile registers, and where "
        "subnormals must be kept"),
    row("cpu_avx512_u8", "avx512", u8, i8, 12, 32, "u8·i8 without VNNI, in pairs of 16 bits"),
    row("cpu_avx512_i8", "avx512", i8, i8, 12, 32, "i8·i8 without VNNI, in pairs of 16 bits"),
    row("cpu_avx2_f32", "avx2", f32, f32, 6, 16, "f32 of any shape"),
    row("cpu_avx2_f64", "avx2", f64, f64, 6, 8, "f64 of any shape"),
    row("cpu_avx2_f16", "avx2", f16, f16, 6, 16, "f16, widened to f32"),
    row("cpu_avx2_bf16", "avx2", bf16, bf16, 6, 16, "bf16, widened to f32"),
    row("cpu_avx2_u8", "avx2", u8, i8, 6, 16, "u8·i8, in pairs of 16 bits"),
    row("cpu_avx2_i8", "avx2", i8, i8, 6, 16, "i8·i8, in pairs of 16 bits"),
    row("cpu_scalar_f32", "scalar", f32, f32, 4, 8, "any processor"),
    row("cpu_scalar_f64", "scalar", f64, f64, 4, 8, "any processor"),
    row("cpu_scalar_f16", "scalar", f16, f16, 4, 8, "any processor"),
    row("cpu_scalar_bf16", "scalar", bf16, bf16, 4, 8, "any processor"),
    row("cpu_scalar_u8", "scalar", u8, i8, 4, 8, "any processor"),
    row("cpu_scalar_i8", "scalar", i8, i8, 4, 8, "any processor"),
};

}  // namespace

std::span<const KernelEntry> cpu_kernels() {
  return kKernels;
}

}  // namespace tessera
