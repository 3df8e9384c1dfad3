// A GPU at hand as a Machine, from what its driver tells. Apart from the calls that ask it
// (cuda/device_machine.cu), so that devices which are not at hand can be tried.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/machine.hpp"

namespace tessera {

struct ReportedGpu {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  std::int64_t scratchpad_bytes = 0;  // shared memory that one block may use
  std::int64_t cache_bytes = 0;
  // 0 where the driver does not tell: the newest parts have no one clock.
  std::int64_t memory_kilohertz = 0;
  std::int64_t memory_bus_bits = 0;
};

// The shipped description of the nearest kind, with the device's own name, processors, scratchpad
// and caches, and its memory's speed where that differs. Throws Error(unsupported) for a device
// that no kernel runs on.
Machine machine_of(const ReportedGpu& gpu);

}  // namespace tessera
