// What the processor and the operating system let this process run.
#pragma once

#include <string_view>

namespace tessera::cpu {

// The widest instruction set of Machine::architecture's CPU line that can run here: "scalar",
// "avx2", "avx512", "avx512_vnni", "avx512_bf16" or "amx". Asked once.
std::string_view host_architecture();

bool is_amd();

// Whether two units do all vectors' work, as on Intel's processors.
bool has_two_units();

// Whether it is a Granite Rapids, or an Intel processor that came later.
bool is_granite_rapids_or_later();

// Whether vectors of 512 bits leave time for more loads than they have operands: Intel's processors
// before Granite Rapids, which start 19 of them beside 24 multiply-adds in 12 cycles, all in the
// nearest cache, where that one takes 12.7. 2026-11.
bool has_spare_loads();

// Whether AVX2's stores by a mask take dozens of operations: AMD's processors (measured on a Zen
// 3). Microkernels ask at every such store, so it is found out before main; who multiplies earlier
// still gets false, which is slower and as right.
extern const bool kSplitsMaskedStores;

// As CPUID counts: AMD's Zen 1 and 2 are 0x17, Zen 3 and 4 0x19, Zen 5 is 0x1a.
int processor_family();

// How wide the widest vectors above are, and how many of their multiply-adds start in a cycle: one
// where they take two passes through units of half the width, as on Zen 4 (and Zen 1), two
// elsewhere. Asked once.
struct Pipes {
  int vector_bits = 128;
  int multiply_adds_per_cycle = 1;
};
Pipes multiply_add_pipes();

}  // namespace tessera::cpu
