#include "cuda/device_machine.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "core/reported_gpu.hpp"
#include "cuda/check.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "reading a device attribute");
  return value;
}

// 0 where the driver does not know.
int attribute_if_known(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) == cudaSuccess) return value;
  cudaGetLastError();
  return 0;
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
  return machine_of(
      {.name = properties.name,
       .major = properties.major,
       .minor = properties.minor,
       .multiprocessors = properties.multiProcessorCount,
       .scratchpad_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
       .cache_bytes = properties.l2CacheSize,
       .memory_kilohertz = attribute_if_known(cudaDevAttrMemoryClockRate, device),
       .memory_bus_bits = attribute_if_known(cudaDevAttrGlobalMemoryBusWidth, device)});
}

}  // namespace tessera::cuda
