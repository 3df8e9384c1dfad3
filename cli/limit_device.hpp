// The device whose limits are looked for: its memory, its clock, and what it says of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tessera/machine.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera::cli {

// Memory of the device, filled with a small constant; freed with it.
class LimitBuffer {
 public:
  virtual ~LimitBuffer() = default;
  virtual void* data() = 0;
};

class LimitDevice {
 public:
  virtual ~LimitDevice() = default;

  virtual const Machine& machine() const = 0;
  // Throws Error(out_of_memory) with the allocator's words.
  virtual std::unique_ptr<LimitBuffer> allocate(std::int64_t bytes) = 0;
  virtual std::int64_t allocated_bytes() const = 0;
  // What allocate would still give, about.
  virtual std::int64_t memory_left() const = 0;
  // Of the fastest run. Runs at least once, and up to `repeats` times while that takes below a
  // second.
  virtual double seconds(const Plan& plan, std::span<const Operands> operands, int repeats) = 0;
  // The most scratchpad that a worker can have, asked from the device itself; 0 where it is a cache
  // and has no such limit.
  virtual std::int64_t scratchpad_limit() const = 0;
};

// `budget`: bytes above which memory is refused; 0: what the device has. A CPU is never driven into
// its last tenth, where the system would end processes instead of refusing.
std::unique_ptr<LimitDevice> open_cpu(const Machine& machine, int threads, std::int64_t budget);

// Throws Error(unsupported) without a device, or in a build without CUDA.
std::unique_ptr<LimitDevice> open_cuda(const Machine& machine, std::int64_t budget);

// Bytes that this process can still have: what the system or its cgroup leaves, the smaller.
std::int64_t available_memory();

}  // namespace tessera::cli
