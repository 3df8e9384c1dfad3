// Microkernels for any processor, in plain C++: what the others are compared with.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_scalar.hpp"

namespace tessera::cpu {
namespace {

using CodeF32 = Code<OpsF32, 4, 2, UnitsF32, UnitsF32>;
using CodeF64 = Code<OpsF64, 4, 2, UnitsF64, UnitsF64>;
using CodeF16 = Code<OpsF32, 4, 2, UnitsWidened<f16>, UnitsWidened<f16>>;
using CodeBf16 = Code<OpsF32, 4, 2, UnitsWidened<bf16>, UnitsWidened<bf16>>;
using CodeU8 = Code<OpsI32, 4, 2, UnitsI32<std::uint8_t>, UnitsI32<std::int8_t>>;
using CodeU8Turned = Code<OpsI32, 4, 2, UnitsI32<std::int8_t>, UnitsI32<std::uint8_t>>;
using CodeI8 = Code<OpsI32, 4, 2, UnitsI32<std::int8_t>, UnitsI32<std::int8_t>>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_scalar_u8");
constexpr KernelCode kCode[] = {
    CodeF32::make("cpu_scalar_f32"),           CodeF64::make("cpu_scalar_f64"),
    CodeF16::make("cpu_scalar_f16"),           CodeBf16::make("cpu_scalar_bf16"),
    CodeU8::make("cpu_scalar_u8", &kU8Turned), CodeI8::make("cpu_scalar_i8"),
};

}  // namespace

std::span<const KernelCode> scalar_code() {
  return kCode;
}

}  // namespace tessera::cpu
