// What this processor can do at most, measured: arithmetic peak per type, read bandwidth, and how
// long a cache line takes between two cores. Figures are recorded beside every benchmark, because
// clock and placement change under way, and all shares refer to them.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/element_type.hpp"

namespace tessera::bench {

// What products are held against: no call can take less than their arithmetic and their traffic at
// these rates, each measured as it says.
struct ProcessorLimits {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  std::string flops_source;  // "8192x8192x8192 by cuBLASLt"
  std::string bytes_source;  // "a copy of 2 GiB, read and written"
};

struct PeakMeasurement {
  double flops_per_second = 0;  // of all threads together; a multiply-add counts as two
  std::string instruction;      // "vfmadd231ps zmm"
};

// The fastest multiply-add that this processor has for the input type, from registers, best of a
// few runs of two milliseconds: of bf16 also f32's, of f16 and f32 also tile registers' for bf16,
// of which products of f16 take four and of f32 six.
PeakMeasurement measure_peak(ElementType type, int threads);

// The same of the type's widest instructions, as a Machine's peaks are: on Sapphire Rapids without
// tile registers f32, to which bf16 can be widened, is faster than those.
PeakMeasurement measure_own_peak(ElementType type, int threads);

// Bytes per second that `threads` threads read together from memory: the best of a few passes over
// a buffer on ordinary pages that no cache holds, each thread reading its part as 1, 4, 8 or 16
// streams side by side. One stream alone leaves a third of the bandwidth of a Zen 4 core unused.
double measure_read_bandwidth(int threads);

// Seconds for a cache line to go to another core and come back; 0 where there is only one core.
double measure_ping_pong();

// How many times longer a load takes where a ring of lines fills a set of the nearest data cache
// than where it fills half: the most of all cores that this thread may use. 1 where the core is its
// own; 3 on a Zen 5 while another guest of the host ran on the core's second hardware thread.
double measure_crowding();

}  // namespace tessera::bench
