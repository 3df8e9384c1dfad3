// What the device did at most, measured with the benchmark's own protocol just before it.
#pragma once

#include <string>

#include "bench/cuda/cublaslt.hpp"
#include "bench/cuda/stopwatch.hpp"
#include "bench/limits.hpp"
#include "tessera/machine.hpp"

namespace tessera::bench {

// The fastest of a large product of ours and, with a peer, of cuBLASLt's; and a large copy, its
// bytes counted once for reading and once for writing. Takes some 30 ms and 4 GB of device memory.
ProcessorLimits measure_device_limits(Stopwatch& stopwatch, const Machine& machine,
                                      const GemmTypes& types, const CublasLt* peer);

}  // namespace tessera::bench
