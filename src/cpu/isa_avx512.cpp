// Microkernels for AVX-512 F, BW, DQ and VL: what Skylake-X and everything after it has.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512_half.hpp"

namespace tessera::cpu {
namespace {

using CodeF32 = Code<OpsF32, 12, 2, UnitsF32, UnitsF32>;
using CodeF64 = Code<OpsF64, 12, 2, UnitsF64, UnitsF64>;
using CodeF16 = Code<OpsF32, 12, 2, UnitsWidened<f16>, UnitsWidened<f16>>;
using CodeBf16 = Code<OpsF32, 12, 2, UnitsWidened<bf16>, UnitsWidened<bf16>>;
using CodeU8 = Code<OpsI16Pairs, 12, 2, UnitsI16<std::uint8_t>, UnitsI16<std::int8_t>>;
using CodeU8Turned = Code<OpsI16Pairs, 12, 2, UnitsI16<std::int8_t>, UnitsI16<std::uint8_t>>;
using CodeI8 = Code<OpsI16Pairs, 12, 2, UnitsI16<std::int8_t>, UnitsI16<std::int8_t>>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_avx512_u8");
constexpr KernelCode kCode[] = {
    CodeF32::make("cpu_avx512_f32"),           CodeF64::make("cpu_avx512_f64"),
    CodeF16::make("cpu_avx512_f16"),           CodeBf16::make("cpu_avx512_bf16"),
    CodeU8::make("cpu_avx512_u8", &kU8Turned), CodeI8::make("cpu_avx512_i8"),
};

}  // namespace

std::span<const KernelCode> avx512_code() {
  return kCode;
}

}  // namespace tessera::cpu
