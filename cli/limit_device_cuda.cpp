// The GPU's half of limit_device.hpp.
#include <fmt/format.h>

#include "cli/limit_device.hpp"
#include "cli/without_cuda.hpp"
#include "tessera/error.hpp"

#if TESSERA_HAS_CUDA

#include <algorithm>
#include <limits>

#include "cli/cuda_event.hpp"
#include "cli/interrupt.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr int kFill = 0x3c;
constexpr double kPatienceSeconds = 1;

class CudaBuffer : public LimitBuffer {
 public:
  CudaBuffer(std::int64_t bytes, std::int64_t& allocated) : bytes_(bytes), allocated_(allocated) {
    check_cuda(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)));
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

class CudaDevice : public LimitDevice {
 public:
  CudaDevice(const Machine& machine, std::int64_t budget) : machine_(machine), budget_(budget) {}

  const Machine& machine() const override { return machine_; }
  std::int64_t allocated_bytes() const override { return allocated_; }
  std::int64_t memory_left() const override {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total));
    const auto left = static_cast<std::int64_t>(free);
    return budget_ > 0 ? std::min(left, budget_ - allocated_) : left;
  }
  std::int64_t scratchpad_limit() const override {
    int device = 0;
    int bytes = 0;
    check_cuda(cudaGetDevice(&device));
    check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
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
    const CudaEvent start;
    const CudaEvent end;
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
  refuse_cuda();
}

}  // namespace tessera::cli

#endif
