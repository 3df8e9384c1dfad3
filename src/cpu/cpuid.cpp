#include "cpu/cpuid.hpp"

#include <cpuid.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>

namespace tessera::cpu {
namespace {

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool bit(std::uint32_t word, int position) {
  return ((word >> position) & 1) != 0;
}

// The register states that the operating system saves (XCR0).
std::uint64_t enabled_states() {
  if (!bit(cpuid(1).ecx, 27)) return 0;  // OSXSAVE
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

// Linux hands out the tile registers on request, per process.
bool request_tiles() {
#if defined(__linux__)
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
#else
  return false;
#endif
}

std::string_view detect() {
  constexpr std::uint64_t kYmm = 0x6;
  constexpr std::uint64_t kZmm = 0xe6;
  constexpr std::uint64_t kTiles = 0x60000;
  const std::uint64_t states = enabled_states();
  const Registers basic = cpuid(1);
  const Registers extended = cpuid(7, 0);
  const Registers extended1 = cpuid(7, 1);

  const bool avx2 = (states & kYmm) == kYmm && bit(basic.ecx, 12) && bit(basic.ecx, 29) &&
                    bit(extended.ebx, 5);  // FMA, F16C, AVX2
  if (!avx2) return "scalar";
  const bool avx512 = (states & kZmm) == kZmm && bit(extended.ebx, 16) && bit(extended.ebx, 17) &&
                      bit(extended.ebx, 30) && bit(extended.ebx, 31);  // F, DQ, BW, VL
  if (!avx512) return "avx2";
  if (!bit(extended.ecx, 11)) return "avx512";       // VNNI
  if (!bit(extended1.eax, 5)) return "avx512_vnni";  // AVX512_BF16
  const bool amx = (states & kTiles) == kTiles && bit(extended.edx, 22) && bit(extended.edx, 24) &&
                   bit(extended.edx, 25);  // AMX-BF16, AMX-TILE, AMX-INT8
  return amx && request_tiles() ? "amx" : "avx512_bf16";
}

}  // namespace

std::string_view host_architecture() {
  static const std::string_view architecture = detect();
  return architecture;
}

bool is_amd() {
  return cpuid(0).ebx == 0x68747541;
}  // "Auth…enticAMD"

bool has_two_units() {
  static const bool is_so = !is_amd();
  return is_so;
}

bool is_granite_rapids_or_later() {
  // By what came with it: prefetching of code. Virtual machines may hide the model.
  static const bool is_so = !is_amd() && bit(cpuid(7, 1).edx, 14);
  return is_so;
}

bool has_spare_loads() {
  static const bool is_so = !is_amd() && !is_granite_rapids_or_later();
  return is_so;
}

const bool kSplitsMaskedStores = is_amd();

int processor_family() {
  const std::uint32_t signature = cpuid(1).eax;
  return static_cast<int>(((signature >> 8) & 0xf) + ((signature >> 20) & 0xff));
}

Pipes multiply_add_pipes() {
  static const Pipes pipes = [] {
    const bool amd = is_amd();
    const int family = processor_family();
    const std::string_view architecture = host_architecture();
    if (architecture == "scalar") return Pipes{128, 2};
    const std::uint32_t signature = cpuid(1).eax;
    const std::uint32_t model = ((signature >> 4) & 0xf) | ((signature >> 12) & 0xf0);
    // Zen 1 has AVX2 in halves of 128 bits.
    if (architecture == "avx2") return Pipes{256, amd && family == 0x17 && model < 0x30 ? 1 : 2};
    // Family 0x19 is Zen 3 and Zen 4, of which Zen 4 alone has AVX-512, in halves of 256 bits.
    return Pipes{512, amd && family == 0x19 ? 1 : 2};
  }();
  return pipes;
}

}  // namespace tessera::cpu
