// Microkernels for AVX-512 F, BW, DQ and VL: what Skylake-X and everything after it has.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512_half.hpp"

namespace tessera::cpu {
namespace {

using CodeF32 = Code<OpsF32, 12, 2, UnitsF32, UnitsF32>;
using CodeF64 = Code<OpsF64, 12, 2, UnitsF64, UnitsF64>;
constexpr KernelCode kCode[] = {
    CodeF32::make("cpu_avx512_f32"),
    CodeF64::make("cpu_avx512_f64"),
};

}  // namespace

std::span<const KernelCode> avx512_code() {
  return kCode;
}

}  // namespace tessera::cpu
