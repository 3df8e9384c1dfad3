// The GPU's half of limit_device.hpp.
#include <fmt/format.h>

#include "cli/limit_device.hpp"
#include "tessera/error.hpp"

#if TESSERA_HAS_CUDA

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

#include "cli/interrupt.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr int kFill = 0x3c;
constexpr double kPatienceSeconds = 1;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  // A refused allocation leaves its mark on the next call otherwise.
  cudaGetLastError();
  throw Error(status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
              fmt::format("the CUDA device reports: {}", cudaGetErrorString(status)));
}

class CudaBuffer : public LimitBuffer {
 public:
  CudaBuffer(std::int64_t bytes, std::int64_t& allocated) : bytes_(bytes), allocated_(allocated) {
    check(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)));
    allocated_ += bytes_;
    cudaMemset(memory_, kFill, static_cast<std::size_t>(bytes));
  }
  ~CudaBuffer() override {
    cudaFree(memory_);
    allocated_ -= bytes_;
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  void* data() override { return memory_; }

 private:
  std::int64_t bytes_;
  std::int64_t& allocated_;
  void* memory_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record() const { check(cudaEventRecord(event_, nullptr)); }
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventSynchronize(event_));
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaDevice : public LimitDevice {
 public:
  CudaDevice(const Machine& machine, std::int64_t budget) : machine_(machine), budget_(budget) {}

  const Machine& machine() const override { return machine_; }
  std::int64_t allocated_bytes() const override { return allocated_; }
  std::int64_t scratchpad_limit() const override {
    int device = 0;
    int bytes = 0;
    check(cudaGetDevice(&device));
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    return bytes;
  }

  std::unique_ptr<LimitBuffer> allocate(std::int64_t bytes) override {
    if (budget_ > 0 && bytes > budget_ - allocated_) {
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{} more bytes are wanted, and {} are left of the budget", bytes,
                              budget_ - allocated_));
    }
    return std::make_unique<CudaBuffer>(bytes, allocated_);
  }

  double seconds(const Plan& plan, std::span<const Operands> operands, int repeats) override {
    const Event start;
    const Event end;
    double best = std::numeric_limits<double>::infinity();
    double spent = 0;
    run(plan, operands, {});
    for (int i = 0; i < repeats && (i == 0 || spent < kPatienceSeconds); ++i) {
      throw_if_interrupted();
      start.record();
      run(plan, operands, {});
      end.record();
      const double taken = end.seconds_since(start);
      best = std::min(best, taken);
      spent += taken;
    }
    return best;
  }

 private:
  Machine machine_;
  std::int64_t budget_;
  std::int64_t allocated_ = 0;
};

}  // namespace

std::unique_ptr<LimitDevice> open_cuda(const Machine& machine, std::int64_t budget) {
  return std::make_unique<CudaDevice>(machine, budget);
}

}  // namespace tessera::cli

#else

namespace tessera::cli {

std::unique_ptr<LimitDevice> open_cuda(const Machine&, std::int64_t) {
  throw Error(ErrorCode::unsupported, "--device", "be in this build", "cuda",
              "configure with -DTESSERA_CUDA=ON, or use --device cpu");
}

}  // namespace tessera::cli

#endif
