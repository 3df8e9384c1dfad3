// The machines that ship with the library, as data. Figures marked "measured" were; the others are
// the vendor's data sheet, or a figure measured on a relative and scaled, as `source` says. They
// are there to plan for a machine that is not at hand; `tessera calibrate` replaces them where it
// is.
#include <algorithm>
#include <array>

#include "tessera/error.hpp"
#include "tessera/machine.hpp"

namespace tessera {
namespace {

using enum ElementType;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;

// A tensor core's rates follow from the 16-bit one: 8-bit integers run at twice its speed; f32 and
// f64 run on the ordinary units.
std::vector<PeakRate> gpu_peaks(double rate_16_bit, double rate_f32, double rate_f64) {
  return {{bf16, rate_16_bit},   {f16, rate_16_bit}, {i8, 2 * rate_16_bit},
          {u8, 2 * rate_16_bit}, {f32, rate_f32},    {f64, rate_f64}};
}

// A CPU core's rates from its f32 rate: f64 at half of it; the others as multiples, which depend on
// what the instruction set has (1 for 16-bit types that are converted to f32 first).
std::vector<PeakRate> cpu_peaks(double rate_f32, double times_bf16, double times_i8) {
  return {{f32, rate_f32},           {f64, rate_f32 / 2},
          {f16, rate_f32},           {bf16, rate_f32 * times_bf16},
          {i8, rate_f32 * times_i8}, {u8, rate_f32 * times_i8}};
}

// H200 SXM, 132 SMs. Peaks: 4096 16-bit, 256 f32 and 512 tensor f64 operations per clock and SM at
// 1.83 GHz (data sheet). Copy bandwidth 4.3 TB/s read + written. The cache's is the sum of what the
// SMs take in: 64 bytes per clock each.
Machine h200() {
  Machine m;
  m.name = "h200";
  m.kind = MachineKind::gpu;
  m.architecture = "sm_90";
  m.workers = 132;
  m.scratchpad_bytes = 227 * kKiB;  // what one block may use
  m.cache_bytes = 50 * kMiB;  // cudaDeviceProp::l2CacheSize says 60 MB; half is far from an SM
  m.memory_bytes_per_second = 4.3e12;
  m.cache_bytes_per_second = 14e12;
  m.worker_memory_bytes_per_second = 80e9;
  m.peaks = gpu_peaks(4096 * 1.83e9, 256 * 1.83e9, 512 * 1.83e9);
  m.cost = {.launch_seconds = 7.1e-6,
            .tile_seconds = 0.75e-6,
            .split_seconds = 0.8e-6,
            .iteration_overhead_seconds = 45e-9,
            .peer_seconds_per_byte = 1.0 / 105e9,
            .compute_efficiency = 0.97,
            .source =
                "least squares over 120 bf16 products under all kernels and schedules on an H200, "
                "700 W, CUDA 13.0, cold cache, 2026-11-20"};
  return m;
}

// H100 SXM: the same SMs with slower memory (3.35 TB/s by the data sheet, 88 % of it as copied).
Machine h100() {
  Machine m = h200();
  m.name = "h100";
  m.memory_bytes_per_second = 2.95e12;
  m.worker_memory_bytes_per_second = 55e9;
  m.cost.source = "the H200's, which has the same SMs; memory by the data sheet, 2026-11";
  return m;
}

// A100 SXM 80 GB: 108 SMs at 1.41 GHz; 2.04 TB/s by the data sheet, 88 % of it as copied.
Machine a100_108sm() {
  Machine m;
  m.name = "a100-108sm";
  m.kind = MachineKind::gpu;
  m.architecture = "sm_80";
  m.workers = 108;
  m.scratchpad_bytes = 163 * kKiB;
  m.cache_bytes = 40 * kMiB;
  m.memory_bytes_per_second = 1.8e12;
  m.cache_bytes_per_second = 4.5e12;
  m.worker_memory_bytes_per_second = 40e9;
  m.peaks = gpu_peaks(2048 * 1.41e9, 128 * 1.41e9, 128 * 1.41e9);
  m.cost = {.launch_seconds = 4e-6,
            .tile_seconds = 1.5e-6,
            .split_seconds = 1.5e-6,
            .iteration_overhead_seconds = 40e-9,
            .peer_seconds_per_byte = 1.0 / 40e9,
            .compute_efficiency = 0.75,
            .source = "data sheet; constants scaled from the H200 by clock, not measured, 2026-11"};
  return m;
}

// An Ampere of 84 SMs with 99 KB of shared memory per block and a small L2 (RTX A6000, 1.8 GHz).
Machine gpu_84sm() {
  Machine m = a100_108sm();
  m.name = "gpu-84sm";
  m.workers = 84;
  m.scratchpad_bytes = 99 * kKiB;
  m.cache_bytes = 6 * kMiB;
  m.memory_bytes_per_second = 0.68e12;
  m.cache_bytes_per_second = 2.5e12;
  m.worker_memory_bytes_per_second = 20e9;
  m.peaks = gpu_peaks(1024 * 1.8e9, 256 * 1.8e9, 4 * 1.8e9);
  return m;
}

// Costs of a fork and join through OpenMP, of a work item, and of adding partial tiles from a
// shared cache: much alike on all server cores.
CostConstants cpu_costs(std::string source) {
  return {.launch_seconds = 3e-6,
          .tile_seconds = 100e-9,
          .split_seconds = 300e-9,
          .iteration_overhead_seconds = 20e-9,
          .peer_seconds_per_byte = 1.0 / 20e9,
          .pack_seconds_per_byte = 1.0 / 11e9,
          .compute_efficiency = 0.95,
          .source = std::move(source)};
}

// Eight cores around one L3. 512-bit instructions run as two 256-bit halves: 32 f32 operations a
// clock.
Machine zen4() {
  Machine m;
  m.name = "zen4";
  m.kind = MachineKind::cpu;
  m.architecture = "avx512_bf16";
  m.workers = 8;
  m.scratchpad_bytes = 1 * kMiB;
  m.l1_bytes = 32 * kKiB;
  m.cache_bytes = 32 * kMiB;
  m.memory_bytes_per_second = 60e9;
  m.cache_bytes_per_second = 8 * 90e9;
  m.worker_memory_bytes_per_second = 30e9;
  m.peaks = cpu_peaks(32 * 3.7e9, 2, 4);
  m.cost = cpu_costs(
      "f32 rate from the instruction tables at 3.7 GHz; bandwidths scaled from Zen 5, "
      "2026-11");
  return m;
}

// Measured on an EPYC at about 4.5 GHz, per core: f32 288 GFLOP/s, bf16 565, u8·i8 1112, memory 45
// GB/s (90 for two cores), L3 134 GB/s.
Machine zen5() {
  Machine m = zen4();
  m.name = "zen5";
  m.l1_bytes = 48 * kKiB;
  m.memory_bytes_per_second = 120e9;
  m.cache_bytes_per_second = 8 * 134e9;
  m.worker_memory_bytes_per_second = 45e9;
  m.peaks = cpu_peaks(288e9, 1.96, 3.86);
  m.cost = cpu_costs("measured on two cores of an EPYC Zen 5, 2026-11; more cores by scaling");
  return m;
}

// Xeon 8380: 40 cores, 2.6 GHz when all run 512-bit FMA, eight channels of DDR4-3200; VNNI but no
// bf16.
Machine icelake() {
  Machine m;
  m.name = "icelake";
  m.kind = MachineKind::cpu;
  m.architecture = "avx512_vnni";
  m.workers = 40;
  m.scratchpad_bytes = 1280 * kKiB;
  m.l1_bytes = 48 * kKiB;
  m.cache_bytes = 60 * kMiB;
  m.memory_bytes_per_second = 165e9;
  m.cache_bytes_per_second = 40 * 25e9;
  m.worker_memory_bytes_per_second = 12e9;
  m.peaks = cpu_peaks(64 * 2.6e9, 1, 4);
  m.cost = cpu_costs("data sheet and instruction tables, not measured, 2026-11");
  return m;
}

// Xeon 8480+: 56 cores, 2.6 GHz under 512-bit FMA, eight channels of DDR5-4800; AMX does 1024 bf16
// multiply-adds a clock, of which loads leave about half.
Machine sapphire_rapids() {
  Machine m = icelake();
  m.name = "sapphire-rapids";
  m.architecture = "amx";
  m.workers = 56;
  m.scratchpad_bytes = 2 * kMiB;
  m.cache_bytes = 105 * kMiB;
  m.memory_bytes_per_second = 245e9;
  m.cache_bytes_per_second = 56 * 25e9;
  m.worker_memory_bytes_per_second = 14e9;
  m.peaks = cpu_peaks(64 * 2.6e9, 16, 32);
  return m;
}

// Four cores with two 256-bit FMA units each at 3 GHz, two channels of DDR4-3200.
Machine avx2_laptop() {
  Machine m;
  m.name = "avx2-laptop";
  m.kind = MachineKind::cpu;
  m.architecture = "avx2";
  m.workers = 4;
  m.scratchpad_bytes = 512 * kKiB;
  m.l1_bytes = 32 * kKiB;
  m.cache_bytes = 8 * kMiB;
  m.memory_bytes_per_second = 35e9;
  m.cache_bytes_per_second = 4 * 50e9;
  m.worker_memory_bytes_per_second = 18e9;
  m.peaks = cpu_peaks(32 * 3.0e9, 1, 2);
  m.cost = cpu_costs("a typical laptop by instruction tables, not measured, 2026-11");
  return m;
}

struct ShippedMachine {
  std::string_view name;
  Machine (*make)();
};
constexpr std::array kShipped = {
    ShippedMachine{"h200", h200},
    ShippedMachine{"h100", h100},
    ShippedMachine{"a100-108sm", a100_108sm},
    ShippedMachine{"gpu-84sm", gpu_84sm},
    ShippedMachine{"zen4", zen4},
    ShippedMachine{"zen5", zen5},
    ShippedMachine{"icelake", icelake},
    ShippedMachine{"sapphire-rapids", sapphire_rapids},
    ShippedMachine{"avx2-laptop", avx2_laptop},
};

}  // namespace

double Machine::peak(ElementType type) const {
  const auto found = std::ranges::find(peaks, type, &PeakRate::type);
  return found == peaks.end() ? 0 : found->flops_per_second_per_worker;
}

Machine machine_by_name(std::string_view name) {
  for (const ShippedMachine& shipped : kShipped) {
    if (shipped.name == name) return shipped.make();
  }
  std::string known;
  for (const std::string& each : machine_names()) known += (known.empty() ? "" : ", ") + each;
  throw Error(ErrorCode::invalid_argument, "machine", "be one of " + known,
              "'" + std::string(name) + "'", "choose a listed name, or describe yours in JSON");
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const ShippedMachine& shipped : kShipped) names.emplace_back(shipped.name);
  return names;
}

}  // namespace tessera
