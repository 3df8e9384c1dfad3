// The code of each instruction set's unit; empty where the compiler cannot build it. Which of it
// the processor can run is for the caller to know (cpuid.hpp).
#pragma once

#include <span>

#include "cpu/kernel.hpp"

namespace tessera::cpu {

std::span<const KernelCode> scalar_code();
std::span<const KernelCode> avx2_code();
std::span<const KernelCode> avx512_code();
std::span<const KernelCode> avx512_widened_code();
std::span<const KernelCode> avx512_vnni_code();
std::span<const KernelCode> avx512_bf16_code();
std::span<const KernelCode> amx_code();
std::span<const KernelCode> amx_f64_code();

}  // namespace tessera::cpu
