#include "cli/limit_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "bench/clock.hpp"
#include "cli/interrupt.hpp"
#include "report/text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr double kPatienceSeconds = 1;
// In every type a small finite number: 0.0115 in f32 and bf16, 1.06 in f16, 60 in i8.
constexpr int kFill = 0x3c;

// The first number after `key` in a file of lines; -1 where there is none.
std::int64_t number_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  if (key.empty()) {
    std::int64_t value = -1;
    return file >> value ? value : -1;
  }
  while (file >> word) {
    std::int64_t value = -1;
    if (word == key && file >> value) return value;
  }
  return -1;
}

class CpuBuffer : public LimitBuffer {
 public:
  CpuBuffer(std::int64_t bytes, std::int64_t& allocated) : bytes_(bytes), allocated_(allocated) {
    constexpr std::size_t kAlignment = 64;
    const auto size = (static_cast<std::size_t>(bytes) / kAlignment + 1) * kAlignment;
    memory_ = std::aligned_alloc(kAlignment, size);
    if (memory_ == nullptr) {
      throw Error(ErrorCode::out_of_memory, fmt::format("the system refused {} bytes", bytes));
    }
    std::memset(memory_, kFill, static_cast<std::size_t>(bytes));
    allocated_ += bytes_;
  }
  ~CpuBuffer() override {
    std::free(memory_);
    allocated_ -= bytes_;
  }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;
  void* data() override { return memory_; }

 private:
  std::int64_t bytes_;
  std::int64_t& allocated_;
  void* memory_ = nullptr;
};

class CpuDevice : public LimitDevice {
 public:
  CpuDevice(const Machine& machine, int threads, std::int64_t budget)
      : machine_(machine), threads_(threads), budget_(budget) {}

  const Machine& machine() const override { return machine_; }
  std::int64_t allocated_bytes() const override { return allocated_; }
  std::int64_t memory_left() const override {
    return budget_ > 0 ? budget_ - allocated_ : available_memory() / 10 * 9;
  }
  std::int64_t scratchpad_limit() const override { return 0; }

  std::unique_ptr<LimitBuffer> allocate(std::int64_t bytes) override {
    const std::int64_t left = memory_left();
    if (bytes > left) {
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{} more bytes are wanted, and {} are left {}", bytes,
                              std::max<std::int64_t>(left, 0),
                              budget_ > 0 ? "of the budget" : "of this machine's memory"));
    }
    return std::make_unique<CpuBuffer>(bytes, allocated_);
  }

  double seconds(const Plan& plan, std::span<const Operands> operands, int repeats) override {
    double best = std::numeric_limits<double>::infinity();
    double spent = 0;
    for (int i = 0; i < repeats && (i == 0 || spent < kPatienceSeconds); ++i) {
      throw_if_interrupted();
      const double taken = bench::seconds_of([&] { run(plan, operands, {.threads = threads_}); });
      best = std::min(best, taken);
      spent += taken;
    }
    return best;
  }

 private:
  Machine machine_;
  int threads_;
  std::int64_t budget_;
  std::int64_t allocated_ = 0;
};

}  // namespace

std::int64_t available_memory() {
  std::int64_t available = number_in("/proc/meminfo", "MemAvailable:") * 1024;
  const std::int64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current", "");
  if (limit > 0 && used >= 0)
    available = std::min(available, std::max<std::int64_t>(limit - used, 0));
  return std::max<std::int64_t>(available, 0);
}

std::unique_ptr<LimitDevice> open_cpu(const Machine& machine, int threads, std::int64_t budget) {
  return std::make_unique<CpuDevice>(machine, threads, budget);
}

}  // namespace tessera::cli
