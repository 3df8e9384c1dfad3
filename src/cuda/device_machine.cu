#include "cuda/device_machine.hpp"

#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "cuda/check.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "reading a device attribute");
  return value;
}

// The shipped description that is nearest.
Machine nearest_shipped(std::string_view name, int major) {
  if (major < 9) return machine_by_name("a100-108sm");
  return machine_by_name(name.find("H200") != std::string_view::npos ? "h200" : "h100");
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

Machine cuda_machine(int device) {
  const int count = device_count();
  if (device < 0 || device >= count) {
    throw Error(ErrorCode::unsupported, "device",
                "number one of the " + std::to_string(count) + " CUDA devices",
                std::to_string(device), "check the driver, or plan for the CPU");
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "reading the device's properties");
  if (properties.major < 8) {
    throw Error(ErrorCode::unsupported, "device", "have compute capability 8.0 or newer",
                std::to_string(properties.major) + "." + std::to_string(properties.minor),
                "use a newer GPU, or plan for the CPU");
  }

  const Machine shipped = nearest_shipped(properties.name, properties.major);
  Machine machine = shipped;
  machine.name = properties.name;
  // Code for sm_90a runs on compute capability 9.0 alone.
  machine.architecture = properties.major == 9 && properties.minor == 0 ? "sm_90" : "sm_80";
  machine.workers = properties.multiProcessorCount;
  machine.scratchpad_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (properties.name != std::string_view("NVIDIA H200")) {
    // Twice the clock, as memory is double data rate; 88 % of it is what a copy reaches.
    const double data_sheet = 2.0e3 * attribute(cudaDevAttrMemoryClockRate, device) *
                              attribute(cudaDevAttrGlobalMemoryBusWidth, device) / 8;
    const double scale = 0.88 * data_sheet / shipped.memory_bytes_per_second;
    machine.memory_bytes_per_second *= scale;
    machine.cache_bytes = properties.l2CacheSize;
    machine.cost.source += "; bandwidth scaled by the memory clock";
  }
  return machine;
}

}  // namespace tessera::cuda
