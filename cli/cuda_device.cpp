#include "cli/cuda_device.hpp"

#include "cli/without_cuda.hpp"

#if TESSERA_HAS_CUDA

#include <cuda_runtime_api.h>

#include <algorithm>

#include "cli/cuda_event.hpp"
#include "cli/interrupt.hpp"
#include "cli/progress.hpp"
#include "tessera/tessera.hpp"

#if TESSERA_HAS_CUDA_BENCHMARK
#include "bench/cuda/device.hpp"
#endif

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

// The workload's matrices on the device.
class OnDevice {
 public:
  explicit OnDevice(Workload& workload) : workload_(workload), operands_(workload.operands()) {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Product& product = workload.products[i];
      operands_[i].a.data = copies_.emplace_back(product.a.bytes()).data();
      operands_[i].b.data = copies_.emplace_back(product.b.bytes()).data();
      operands_[i].c.data = copies_.emplace_back(product.c.bytes()).data();
      if (workload.epilogue.bias != BiasAxis::none) {
        operands_[i].bias.data = biases_.emplace_back(product.bias.bytes()).data();
      }
    }
  }

  const std::vector<Operands>& operands() const { return operands_; }

  // C as it was before the first run.
  void restore_c() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Product& product = workload_.products[i];
      product.restore_c();
      if (workload_.beta != 0) copies_[3 * i + 2].write(product.c.bytes());
    }
  }
  void read_c() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      copies_[3 * i + 2].read(workload_.products[i].c.bytes());
    }
  }

 private:
  Workload& workload_;
  std::vector<DeviceCopy> copies_;  // A, B, C of each product in turn
  std::vector<DeviceCopy> biases_;
  std::vector<Operands> operands_;
};

// Empties the device's cache before a run, where the benchmark was built.
class ColdCache {
 public:
#if TESSERA_HAS_CUDA_BENCHMARK
  void flush() const {
    bench::flush_cache(memory_, nullptr);
  }

 private:
  bench::DeviceMemory memory_{std::size_t{256} << 20};
#else
  void flush() const {}
#endif
};

double timed_run(const Plan& plan, const OnDevice& matrices, const RunOptions& options) {
  const CudaEvent start;
  const CudaEvent end;
  start.record();
  run(plan, matrices.operands(), options);
  end.record();
  return end.seconds_since(start);
}

}  // namespace

double run_on_cuda(const Plan& plan, Workload& workload, int repeats) {
  OnDevice matrices(workload);
  double best = 0;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    throw_if_interrupted();
    matrices.restore_c();
    const double seconds = timed_run(plan, matrices, {});
    if (repeat == 1 || (repeat > 1 && seconds < best)) best = seconds;
  }
  matrices.read_c();
  return best;
}

TracedRun trace_on_cuda(const Plan& plan, Workload& workload, int repeats) {
  const OnDevice matrices(workload);
  const ColdCache cache;
  Progress progress("running", repeats, "runs");
  TracedRun result;
  timed_run(plan, matrices, {});
  for (int i = 0; i < repeats; ++i) {
    throw_if_interrupted();
    cache.flush();
    const double plain = timed_run(plan, matrices, {});
    if (i == 0 || plain < result.seconds) result.seconds = plain;
    Trace trace;
    RunOptions options;
    options.trace = &trace;
    cache.flush();
    timed_run(plan, matrices, options);
    if (i == 0 || trace.seconds < result.trace.seconds) result.trace = std::move(trace);
    progress.at(i + 1);
  }
  result.traced_seconds = result.trace.seconds;
  return result;
}

}  // namespace tessera::cli

#else

namespace tessera::cli {

double run_on_cuda(const Plan&, Workload&, int) {
  refuse_cuda();
}

TracedRun trace_on_cuda(const Plan&, Workload&, int) {
  refuse_cuda();
}

}  // namespace tessera::cli

#endif
