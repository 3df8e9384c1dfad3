#include "cuda/device.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tessera::test {
namespace {

// The suite allocates smaller buffers by the hundred thousand; larger ones go back to the device.
constexpr std::size_t kPooled = std::size_t{64} << 20;

// Keeps the memory it was given back: mapping it anew for every matrix costs more than the products
// do. The tests' own, so that the library's allocations meet no memory of theirs.
struct Pool {
  Pool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    check(cudaMemPoolCreate(&memory, &properties));
    std::uint64_t kept = UINT64_MAX;
    check(cudaMemPoolSetAttribute(memory, cudaMemPoolAttrReleaseThreshold, &kept));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }

  cudaMemPool_t memory = nullptr;
  cudaStream_t stream = nullptr;
};

const Pool& pool() {
  static const Pool pool;
  return pool;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  if (bytes >= kPooled) {
    check(cudaMalloc(&data_, bytes));
  } else {
    check(cudaMallocFromPoolAsync(&data_, bytes, pool().memory, pool().stream));
    check(cudaStreamSynchronize(pool().stream));
  }
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  if (size_ >= kPooled) {
    cudaFree(data_);
  } else {
    cudaDeviceSynchronize();
    cudaFreeAsync(data_, pool().stream);
  }
}

const Machine& device_under_test() {
  static const Machine machine = [] {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0));
    Machine found;
    found.name = properties.name;
    found.kind = MachineKind::gpu;
    found.architecture = properties.major == 9 ? "sm_90" : "sm_80";
    found.workers = properties.multiProcessorCount;
    found.scratchpad_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
    return found;
  }();
  return machine;
}

// After an illegal access all that this process asks of the device fails. scripts/gpu_tests.py runs
// the tests that are left in another.
CudaTest::~CudaTest() {
  if (!HasFailure() || !why_no_device().empty()) return;
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::fprintf(stderr, "the device is lost to this process: %s\n", cudaGetErrorString(error));
    std::_Exit(3);
  }
}

}  // namespace tessera::test
