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

CostConstants hopper_cost(std::string_view source) {
  return {.launch_seconds = 5.4e-6,
          .tile_seconds = 0.35e-6,
          .split_seconds = 0.8e-6,
          .iteration_overhead_seconds = 8e-9,
          .peer_seconds_per_byte = 1.0 / 83e9,
          .compute_efficiency = 0.8,
          .source = std::string(source)};
}

CostConstants ampere_cost(std::string_view source) {
  return {.launch_seconds = 4e-6,
          .tile_seconds = 1.5e-6,
          .split_seconds = 1.5e-6,
          .iteration_overhead_seconds = 40e-9,
          .peer_seconds_per_byte = 1.0 / 40e9,
          .compute_efficiency = 0.75,
          .source = std::string(source)};
}

// What each thread adds to a fork and join through OpenMP, which starts and awaits all of a team's
// however few have work, and to finding one's work. Emerald Rapids, threads that still spin from
// the call before, 2026-11: with nothing to do 1.1, 1.8, 2.8 and 4.4 µs for 2, 4, 8 and 16 of them;
// i8 128³, whose multiply-adds take each below 0.5, 4.0, 5.5 and 6.5 for 4, 8 and 16. More are
// taken to go on so.
constexpr double kForkSecondsPerThread = 0.25e-6;

// Costs of a fork and join, of a work item, and of adding partial tiles from a shared cache. The
// least product takes longer on two threads than on one by 1.4 µs on a Zen 4 (64³ in f32 3.7 µs, on
// one core 4.6) and by 2.5 on a Granite Rapids, whose cores are further apart.
CostConstants cpu_cost(std::string_view source, int cores) {
  const bool are_near = cores <= 8;
  return {.launch_seconds = (are_near ? 1.0e-6 : 2.4e-6) + kForkSecondsPerThread * cores,
          .tile_seconds = 100e-9,
          .split_seconds = 300e-9,
          .iteration_overhead_seconds = 20e-9,
          .peer_seconds_per_byte = 1.0 / 20e9,
          .pack_seconds_per_byte = 1.0 / 22e9,
          .compute_efficiency = 0.95,
          .source = std::string(source)};
}

struct Gpu {
  std::string_view name;
  std::string_view architecture;
  int sms;
  std::int64_t scratchpad_bytes;  // shared memory that one block may use
  std::int64_t cache_bytes;
  double memory_bytes_per_second;
  double cache_bytes_per_second;  // all SMs
  double sm_memory_bytes_per_second;
  double clock;  // Hz
  // Operations per clock and SM.
  int ops_16_bit;
  int ops_f32;
  int ops_f64;
  CostConstants (*cost)(std::string_view source);
  std::string_view source;
};

constexpr std::string_view kAmpereSource =
    "data sheet; constants scaled from the H200 by clock, not measured, 2026-11";

constexpr std::string_view kHopperSource =
    "the H200's, which has the same SMs; clock and memory by the data sheet, not measured, 2026-11";

constexpr std::array kGpus = {
    // SXM. The data sheet's clock and tensor f64. Copy bandwidth is read + written; the cache's the
    // sum of what the SMs take in, 64 bytes per clock each at the 1.9 GHz of short products.
    // cudaDeviceProp::l2CacheSize says 60 MB; half of it is far from an SM.
    Gpu{"h200", "sm_90", 132, 227 * kKiB, 50 * kMiB, 4.3e12, 17e12, 80e9, 1.83e9, 4096, 256, 512,
        hopper_cost,
        "least regret over 900 bf16 products, 19000 plans raced on an H200, 700 W, CUDA 13.0, cold "
        "cache and code, 2026-11-22"},
    // SXM: the same SMs with slower memory (3.35 TB/s by the data sheet, 88 % of it as copied).
    // The other Hoppers' memory likewise, and the clock from the dense 16-bit rate by NVIDIA's data
    // sheets: 756 TFLOP/s for the PCIe card with 2.04 TB/s, 835 for the NVL with 3.94, 990 for the
    // Grace Hopper with 96 GB of HBM3 at 4.02. Short products run at the clock of the f32 rate, 51
    // TFLOP/s and 60 on the cards.
    Gpu{"h100", "sm_90", 132, 227 * kKiB, 50 * kMiB, 2.95e12, 17e12, 55e9, 1.83e9, 4096, 256, 512,
        hopper_cost, "the H200's, which has the same SMs; memory by the data sheet, 2026-11"},
    Gpu{"h100-pcie", "sm_90", 114, 227 * kKiB, 50 * kMiB, 1.79e12, 12.8e12, 55e9, 1.62e9, 4096, 256,
        512, hopper_cost, kHopperSource},
    Gpu{"h100-nvl", "sm_90", 132, 227 * kKiB, 50 * kMiB, 3.47e12, 15e12, 55e9, 1.545e9, 4096, 256,
        512, hopper_cost, kHopperSource},
    Gpu{"gh200", "sm_90", 132, 227 * kKiB, 50 * kMiB, 3.54e12, 17e12, 55e9, 1.83e9, 4096, 256, 512,
        hopper_cost, kHopperSource},
    // SXM 80 GB: 2.04 TB/s by the data sheet, 88 % of it as copied.
    Gpu{"a100-108sm", "sm_80", 108, 163 * kKiB, 40 * kMiB, 1.8e12, 4.5e12, 40e9, 1.41e9, 2048, 128,
        128, ampere_cost, kAmpereSource},
    // An Ampere with 99 KB of shared memory per block and a small L2 (RTX A6000).
    Gpu{"gpu-84sm", "sm_80", 84, 99 * kKiB, 6 * kMiB, 0.68e12, 2.5e12, 20e9, 1.8e9, 1024, 256, 4,
        ampere_cost, kAmpereSource},
};

struct Cpu {
  std::string_view name;
  std::string_view architecture;
  int cores;
  std::int64_t l1_bytes;
  std::int64_t l2_bytes;
  std::int64_t l3_bytes;
  double memory_bytes_per_second;
  // One core alone.
  double core_l3_bytes_per_second;
  double core_memory_bytes_per_second;
  double rate_f32;
  // Multiples of the f32 rate, of the type's widest instructions (1 for bf16 without any). Of
  // vdpbf16ps Zen 4 and 5 start as many as of f32's FMA, each worth two; Sapphire and Emerald
  // Rapids start one in two cycles, and four FMAs.
  double times_bf16;
  double times_i8;
  std::string_view source;
};

constexpr std::string_view kXeonSource = "data sheet and instruction tables, not measured, 2026-11";

constexpr std::array kCpus = {
    // Eight cores around one L3. 512-bit instructions run as two 256-bit halves: 32 f32 operations
    // a clock.
    Cpu{"zen4", "avx512_bf16", 8, 32 * kKiB, 1 * kMiB, 32 * kMiB, 60e9, 90e9, 30e9, 32 * 3.7e9, 2,
        4,
        "f32 rate from the instruction tables at 3.7 GHz; bandwidths scaled from Zen 5, 2026-11"},
    // Measured on an EPYC at about 4.5 GHz, per core: f32 288 GFLOP/s, bf16 565, u8·i8 1112, memory
    // 45 GB/s (90 for two cores), L3 134 GB/s.
    Cpu{"zen5", "avx512_bf16", 8, 48 * kKiB, 1 * kMiB, 32 * kMiB, 120e9, 134e9, 45e9, 288e9, 1.96,
        3.86, "measured on two cores of an EPYC Zen 5, 2026-11; more cores by scaling"},
    // Xeon 8380: 2.6 GHz when all cores run 512-bit FMA, eight channels of DDR4-3200; VNNI but no
    // bf16.
    Cpu{"icelake", "avx512_vnni", 40, 48 * kKiB, 1280 * kKiB, 60 * kMiB, 165e9, 25e9, 12e9,
        64 * 2.6e9, 1, 4, kXeonSource},
    // Xeon 8480+: 2.6 GHz under 512-bit FMA, eight channels of DDR5-4800; AMX does 1024 bf16
    // multiply-adds a clock, of which loads leave about half.
    Cpu{"sapphire-rapids", "amx", 56, 48 * kKiB, 2 * kMiB, 105 * kMiB, 245e9, 25e9, 14e9,
        64 * 2.6e9, 16, 32, kXeonSource},
    // The same, or its successor, where a virtual machine hides the tile registers.
    Cpu{"sapphire-rapids-avx512", "avx512_bf16", 56, 48 * kKiB, 2 * kMiB, 105 * kMiB, 245e9, 25e9,
        14e9, 64 * 2.6e9, 0.5, 4,
        "data sheet, but bf16 beside f32: measured on an Emerald Rapids guest, 2026-11"},
    // Two 256-bit FMA units a core at 3 GHz, two channels of DDR4-3200.
    Cpu{"avx2-laptop", "avx2", 4, 32 * kKiB, 512 * kKiB, 8 * kMiB, 35e9, 50e9, 18e9, 32 * 3.0e9, 1,
        2, "a typical laptop by instruction tables, not measured, 2026-11"},
};

Machine machine_of(const Gpu& gpu) {
  const double rate_16_bit = gpu.ops_16_bit * gpu.clock;
  // 8-bit integers run at twice the tensor cores' 16-bit rate; f32 runs on the ordinary units.
  return {.name = std::string(gpu.name),
          .kind = MachineKind::gpu,
          .architecture = std::string(gpu.architecture),
          .workers = gpu.sms,
          .scratchpad_bytes = gpu.scratchpad_bytes,
          .cache_bytes = gpu.cache_bytes,
          .memory_bytes_per_second = gpu.memory_bytes_per_second,
          .cache_bytes_per_second = gpu.cache_bytes_per_second,
          .worker_memory_bytes_per_second = gpu.sm_memory_bytes_per_second,
          .peaks = {{bf16, rate_16_bit},
                    {f16, rate_16_bit},
                    {i8, 2 * rate_16_bit},
                    {u8, 2 * rate_16_bit},
                    {f32, gpu.ops_f32 * gpu.clock},
                    {f64, gpu.ops_f64 * gpu.clock}},
          .cost = gpu.cost(gpu.source)};
}

Machine machine_of(const Cpu& cpu) {
  return {.name = std::string(cpu.name),
          .kind = MachineKind::cpu,
          .architecture = std::string(cpu.architecture),
          .workers = cpu.cores,
          .scratchpad_bytes = cpu.l2_bytes,
          .l1_bytes = cpu.l1_bytes,
          .cache_bytes = cpu.l3_bytes,
          .memory_bytes_per_second = cpu.memory_bytes_per_second,
          .cache_bytes_per_second = cpu.cores * cpu.core_l3_bytes_per_second,
          .worker_memory_bytes_per_second = cpu.core_memory_bytes_per_second,
          .peaks = {{f32, cpu.rate_f32},
                    {f64, cpu.rate_f32 / 2},
                    {f16, cpu.rate_f32},
                    {bf16, cpu.rate_f32 * cpu.times_bf16},
                    {i8, cpu.rate_f32 * cpu.times_i8},
                    {u8, cpu.rate_f32 * cpu.times_i8}},
          .cost = cpu_cost(cpu.source, cpu.cores)};
}

}  // namespace

double Machine::peak(ElementType type) const {
  const auto found = std::ranges::find(peaks, type, &PeakRate::type);
  return found == peaks.end() ? 0 : found->flops_per_second_per_worker;
}

Machine with_workers(Machine machine, int workers) {
  const double share = static_cast<double>(workers) / machine.workers;
  if (machine.kind == MachineKind::cpu) {
    const double fewer = kForkSecondsPerThread * (machine.workers - workers);
    machine.cost.launch_seconds =
        std::max(kForkSecondsPerThread, machine.cost.launch_seconds - fewer);
  }
  machine.workers = workers;
  machine.cache_bytes_per_second *= share;
  machine.memory_bytes_per_second =
      std::min(machine.memory_bytes_per_second, workers * machine.worker_memory_bytes_per_second);
  return machine;
}

Machine machine_by_name(std::string_view name) {
  const auto gpu = std::ranges::find(kGpus, name, &Gpu::name);
  if (gpu != kGpus.end()) return machine_of(*gpu);
  const auto cpu = std::ranges::find(kCpus, name, &Cpu::name);
  if (cpu != kCpus.end()) return machine_of(*cpu);
  std::string known;
  for (const std::string& each : machine_names()) known += (known.empty() ? "" : ", ") + each;
  throw Error(ErrorCode::invalid_argument, "machine", "be one of " + known,
              "'" + std::string(name) + "'", "choose a listed name, or describe yours in JSON");
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const Gpu& gpu : kGpus) names.emplace_back(gpu.name);
  for (const Cpu& cpu : kCpus) names.emplace_back(cpu.name);
  return names;
}

}  // namespace tessera
