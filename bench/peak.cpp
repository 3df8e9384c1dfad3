// The arithmetic half of limits.hpp: loops of nothing but multiply-adds, one per instruction.
#include <cpuid.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "bench/clock.hpp"
#include "bench/limits.hpp"

namespace tessera::bench {
namespace {

// Fourteen accumulators: enough for a latency of six cycles at two instructions a cycle. The loop
// is written in assembly so that no compiler removes it and no compiler flag is needed.
#define TESSERA_ONE(instruction, register, i) \
  instruction " %%" register "15, %%" register "14, %%" register #i "\n\t"
#define TESSERA_FOURTEEN(instruction, r) \
  TESSERA_ONE(instruction, r, 0)         \
  TESSERA_ONE(instruction, r, 1)         \
  TESSERA_ONE(instruction, r, 2)         \
  TESSERA_ONE(instruction, r, 3)         \
  TESSERA_ONE(instruction, r, 4)         \
  TESSERA_ONE(instruction, r, 5)         \
  TESSERA_ONE(instruction, r, 6)         \
  TESSERA_ONE(instruction, r, 7)         \
  TESSERA_ONE(instruction, r, 8)         \
  TESSERA_ONE(instruction, r, 9)         \
  TESSERA_ONE(instruction, r, 10)        \
  TESSERA_ONE(instruction, r, 11) TESSERA_ONE(instruction, r, 12) TESSERA_ONE(instruction, r, 13)
#define TESSERA_CLEAR(i) "vpxor %%xmm" #i ", %%xmm" #i ", %%xmm" #i "\n\t"
#define TESSERA_CLEAR_ALL \
  TESSERA_CLEAR(0)        \
  TESSERA_CLEAR(1)        \
  TESSERA_CLEAR(2)        \
  TESSERA_CLEAR(3)        \
  TESSERA_CLEAR(4)        \
  TESSERA_CLEAR(5)        \
  TESSERA_CLEAR(6)        \
  TESSERA_CLEAR(7)        \
  TESSERA_CLEAR(8)        \
  TESSERA_CLEAR(9)        \
  TESSERA_CLEAR(10)       \
  TESSERA_CLEAR(11) TESSERA_CLEAR(12) TESSERA_CLEAR(13) TESSERA_CLEAR(14) TESSERA_CLEAR(15)

constexpr int kPerLoop = 14;

#define TESSERA_PEAK_LOOP(name, instruction, register_kind)                                          \
  void name(std::int64_t loops) {                                                                    \
    asm volatile(TESSERA_CLEAR_ALL                                                                 \
                 "1:\n\t" TESSERA_FOURTEEN(instruction, register_kind)                             \
                 "dec %0\n\t"                                                                      \
                 "jnz 1b\n\t"                                                                      \
                 "vzeroupper"                                                                      \
                 : "+r"(loops)                                                                     \
                 :                                                                                 \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",   \
                   "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"); \
  }

TESSERA_PEAK_LOOP(fma_f32_avx512, "vfmadd231ps", "zmm")
TESSERA_PEAK_LOOP(fma_f64_avx512, "vfmadd231pd", "zmm")
TESSERA_PEAK_LOOP(dot_bf16_avx512, "vdpbf16ps", "zmm")
TESSERA_PEAK_LOOP(dot_i8_avx512, "vpdpbusd", "zmm")
TESSERA_PEAK_LOOP(fma_f32_avx2, "vfmadd231ps", "ymm")
TESSERA_PEAK_LOOP(fma_f64_avx2, "vfmadd231pd", "ymm")
TESSERA_PEAK_LOOP(multiply_i8_avx2, "vpmaddwd", "ymm")

#undef TESSERA_PEAK_LOOP
#undef TESSERA_CLEAR_ALL
#undef TESSERA_CLEAR
#undef TESSERA_FOURTEEN
#undef TESSERA_ONE

// AMX: four accumulators, because a tile product takes 16 cycles and its result comes after 52. The
// kernel gives a process tile registers only when asked.
bool has_amx() {
  constexpr unsigned kAmxBits = 1U << 22 | 1U << 24 | 1U << 25;  // bf16, tile, int8
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kAmxBits) != kAmxBits) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileLayout {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

#define TESSERA_TILE_LOOP(name, instruction)                                                \
  void name(std::int64_t loops) {                                                           \
    const TileLayout layout;                                                                \
    asm volatile(                                                                           \
        "ldtilecfg %1\n\t"                                                                  \
        "tilezero %%tmm0\n\t"                                                               \
        "tilezero %%tmm1\n\t"                                                               \
        "tilezero %%tmm2\n\t"                                                               \
        "tilezero %%tmm3\n\t"                                                               \
        "tilezero %%tmm4\n\t"                                                               \
        "tilezero %%tmm5\n\t"                                                               \
        "tilezero %%tmm6\n\t"                                                               \
        "tilezero %%tmm7\n\t"                                                               \
        "1:\n\t" instruction " %%tmm6, %%tmm4, %%tmm0\n\t" instruction                      \
        " %%tmm7, %%tmm4, %%tmm1\n\t" instruction " %%tmm6, %%tmm5, %%tmm2\n\t" instruction \
        " %%tmm7, %%tmm5, %%tmm3\n\t"                                                       \
        "dec %0\n\t"                                                                        \
        "jnz 1b\n\t"                                                                        \
        "tilerelease"                                                                       \
        : "+r"(loops)                                                                       \
        : "m"(layout)                                                                       \
        : "cc");                                                                            \
  }

constexpr int kTilesPerLoop = 4;
constexpr double kFlopsOfBf16Tiles = 16384;
constexpr double kFlopsOfI8Tiles = 32768;

TESSERA_TILE_LOOP(tiles_bf16_amx, "tdpbf16ps")
TESSERA_TILE_LOOP(tiles_i8_amx, "tdpbusd")

#undef TESSERA_TILE_LOOP

struct PeakLoop {
  const char* instruction;
  bool available;
  void (*run)(std::int64_t loops);
  double flops;  // of one turn of the loop
};

// The loops for a type that this processor has, the widest first; bf16's own before f32's, which it
// is widened to where there is none.
std::vector<PeakLoop> loops_for(ElementType type) {
  __builtin_cpu_init();
  static const bool amx = has_amx();
  const bool fma = __builtin_cpu_supports("fma");
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool avx512 = __builtin_cpu_supports("avx512f");
  const PeakLoop f32_wide{"vfmadd231ps zmm", avx512, fma_f32_avx512, kPerLoop * 32};
  const PeakLoop f32{"vfmadd231ps ymm", fma, fma_f32_avx2, kPerLoop * 16};
  std::vector<PeakLoop> loops;
  switch (type) {
    case ElementType::f64:
      loops = {{"vfmadd231pd zmm", avx512, fma_f64_avx512, kPerLoop * 16},
               {"vfmadd231pd ymm", fma, fma_f64_avx2, kPerLoop * 8}};
      break;
    case ElementType::bf16:
      loops = {{"tdpbf16ps", amx, tiles_bf16_amx, kTilesPerLoop * kFlopsOfBf16Tiles},
               {"vdpbf16ps zmm", __builtin_cpu_supports("avx512bf16") != 0, dot_bf16_avx512,
                kPerLoop * 64},
               f32_wide,
               f32};
      break;
    case ElementType::i8:
    case ElementType::u8:
      loops = {{"tdpbusd", amx, tiles_i8_amx, kTilesPerLoop * kFlopsOfI8Tiles},
               {"vpdpbusd zmm", __builtin_cpu_supports("avx512vnni") != 0, dot_i8_avx512,
                kPerLoop * 128},
               {"vpmaddwd ymm", avx2, multiply_i8_avx2, kPerLoop * 32}};
      break;
    default:
      loops = {f32_wide, f32};
  }
  std::erase_if(loops, [](const PeakLoop& loop) { return !loop.available; });
  return loops;
}

PeakMeasurement measure_loop(const PeakLoop& loop, int threads) {
  constexpr int kRepeats = 5;
  constexpr double kSeconds = 2e-3;
  std::int64_t loops = 1 << 14;
  const Clock::time_point probe = Clock::now();
  loop.run(loops);
  loops = std::max<std::int64_t>(1000, static_cast<std::int64_t>(static_cast<double>(loops) *
                                                                 kSeconds / seconds_since(probe)));

  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
      loop.run(loops / 8);
#pragma omp barrier
      const Clock::time_point start = Clock::now();
      loop.run(loops);
      rate += static_cast<double>(loops) * loop.flops / seconds_since(start);
    }
    best = std::max(best, rate);
  }
  return {best, loop.instruction};
}

}  // namespace

PeakMeasurement measure_own_peak(ElementType type, int threads) {
  const std::vector<PeakLoop> loops = loops_for(type);
  return loops.empty() ? PeakMeasurement{} : measure_loop(loops.front(), threads);
}

PeakMeasurement measure_peak(ElementType type, int threads) {
  PeakMeasurement best = measure_own_peak(type, threads);
  PeakMeasurement other;
  if (type == ElementType::bf16) other = measure_own_peak(ElementType::f32, threads);
  const auto by_tiles = [&](const char* instruction, void (*run)(std::int64_t), double flops,
                            double products) {
    return measure_loop({instruction, true, run, kTilesPerLoop * flops / products}, threads);
  };
  if (has_amx() && type == ElementType::f16) {
    other = by_tiles("tdpbf16ps, four for one", tiles_bf16_amx, kFlopsOfBf16Tiles, 4);
  }
  if (has_amx() && type == ElementType::f32) {
    other = by_tiles("tdpbf16ps, six for one", tiles_bf16_amx, kFlopsOfBf16Tiles, 6);
  }
  if (has_amx() && type == ElementType::f64) {
    other = by_tiles("tdpbusd, fifteen for one", tiles_i8_amx, kFlopsOfI8Tiles, 15);
  }
  return other.flops_per_second > best.flops_per_second ? other : best;
}

}  // namespace tessera::bench
