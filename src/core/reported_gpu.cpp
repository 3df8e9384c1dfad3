#include "core/reported_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tessera/error.hpp"

namespace tessera {
namespace {

// What a copy reaches of the bandwidth by a memory's clock, as on an H200.
constexpr double kOfDataSheet = 0.88;
// A bandwidth closer to the description's says that it is of this device; a description may have
// been measured, and memories of two kinds are a fifth apart.
constexpr double kSameMemory = 0.08;

std::string_view nearest_shipped(const ReportedGpu& gpu) {
  const auto is_called = [&](std::string_view part) {
    return gpu.name.find(part) != std::string::npos;
  };
  if (gpu.major < 9) return gpu.minor == 0 ? "a100-108sm" : "gpu-84sm";
  if (gpu.major > 9) return "h100";
  if (is_called("GH200")) return "gh200";
  if (is_called("NVL")) return "h100-nvl";  // an H200 NVL has its clocks, and faster memory
  if (is_called("H200")) return "h200";
  return is_called("PCIe") ? "h100-pcie" : "h100";
}

// A slice of a device has a share of its cache.
std::int64_t cache_of(const ReportedGpu& gpu, const Machine& shipped) {
  if (gpu.cache_bytes <= 0) return shipped.cache_bytes;
  // Of a Hopper's 60 MB, as drivers count them, the far ones are worth less; the description's
  // number is what was fitted.
  return gpu.major == 9 ? std::min(gpu.cache_bytes, shipped.cache_bytes) : gpu.cache_bytes;
}

void set_memory(Machine& machine, const ReportedGpu& gpu) {
  if (gpu.memory_kilohertz <= 0 || gpu.memory_bus_bits <= 0) {
    machine.cost.source += "; the driver tells no memory clock";
    return;
  }
  // Twice the clock, as memory is double data rate.
  const double data_sheet = 2.0e3 * static_cast<double>(gpu.memory_kilohertz) *
                            static_cast<double>(gpu.memory_bus_bits) / 8;
  const double found = kOfDataSheet * data_sheet;
  if (std::abs(found / machine.memory_bytes_per_second - 1) < kSameMemory) return;
  machine.memory_bytes_per_second = found;
  machine.cost.source += "; bandwidth by the memory clock";
}

}  // namespace

Machine machine_of(const ReportedGpu& gpu) {
  if (gpu.major < 8) {
    throw Error(ErrorCode::unsupported, "device", "have compute capability 8.0 or newer",
                std::to_string(gpu.major) + "." + std::to_string(gpu.minor),
                "use a newer GPU, or plan for the CPU");
  }
  Machine machine = machine_by_name(nearest_shipped(gpu));
  machine.cache_bytes = cache_of(gpu, machine);
  set_memory(machine, gpu);
  if (gpu.multiprocessors != machine.workers) machine = with_workers(machine, gpu.multiprocessors);
  machine.name = gpu.name;
  // Code for sm_90a runs on compute capability 9.0 alone.
  machine.architecture = gpu.major == 9 && gpu.minor == 0 ? "sm_90" : "sm_80";
  machine.scratchpad_bytes = gpu.scratchpad_bytes;
  return machine;
}

}  // namespace tessera
