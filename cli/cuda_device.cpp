#include "cli/cuda_device.hpp"

#include "tessera/error.hpp"

#if TESSERA_HAS_CUDA

#include <cuda_runtime_api.h>

#include <algorithm>

#include "cli/cuda_event.hpp"
#include "cli/interrupt.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

// A matrix's copy on the device, laid out as it is on the host.
class DeviceCopy {
 public:
  explicit DeviceCopy(std::span<const std::byte> bytes) : size_(bytes.size()) {
    if (size_ == 0) return;
    check_cuda(cudaMalloc(&data_, size_));
    write(bytes);
  }
  ~DeviceCopy() { cudaFree(data_); }
  DeviceCopy(DeviceCopy&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
  }
  DeviceCopy& operator=(DeviceCopy&&) = delete;

  void* data() const { return data_; }
  void write(std::span<const std::byte> bytes) const {
    if (size_ > 0) check_cuda(cudaMemcpy(data_, bytes.data(), size_, cudaMemcpyHostToDevice));
  }
  void read(std::span<std::byte> bytes) const {
    if (size_ > 0) check_cuda(cudaMemcpy(bytes.data(), data_, size_, cudaMemcpyDeviceToHost));
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

double run_on_cuda(const Plan& plan, Workload& workload, int repeats) {
  std::vector<DeviceCopy> copies;  // A, B, C of each product in turn
  std::vector<DeviceCopy> biases;
  std::vector<Operands> on_device = workload.operands();
  for (std::size_t i = 0; i < on_device.size(); ++i) {
    Product& product = workload.products[i];
    on_device[i].a.data = copies.emplace_back(product.a.bytes()).data();
    on_device[i].b.data = copies.emplace_back(product.b.bytes()).data();
    on_device[i].c.data = copies.emplace_back(product.c.bytes()).data();
    if (workload.epilogue.bias != BiasAxis::none) {
      on_device[i].bias.data = biases.emplace_back(product.bias.bytes()).data();
    }
  }
  const CudaEvent start;
  const CudaEvent end;
  double best = 0;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    throw_if_interrupted();
    for (std::size_t i = 0; i < on_device.size(); ++i) {
      Product& product = workload.products[i];
      product.restore_c();
      if (workload.beta != 0) copies[3 * i + 2].write(product.c.bytes());
    }
    start.record();
    run(plan, on_device);
    end.record();
    const double seconds = end.seconds_since(start);
    if (repeat == 1 || (repeat > 1 && seconds < best)) best = seconds;
  }
  for (std::size_t i = 0; i < on_device.size(); ++i) {
    copies[3 * i + 2].read(workload.products[i].c.bytes());
  }
  return best;
}

}  // namespace tessera::cli

#else

namespace tessera::cli {

double run_on_cuda(const Plan&, Workload&, int) {
  throw Error(ErrorCode::unsupported, "--device", "be in this build", "cuda",
              "configure with -DTESSERA_CUDA=ON, or use --device cpu");
}

}  // namespace tessera::cli

#endif
