// Microkernels for AVX2 with FMA and F16C.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx2.hpp"
#include "cpu/widened_avx2.hpp"

namespace tessera::cpu {
namespace {

using CodeF32 = Code<OpsF32, 6, 2, UnitsF32, UnitsF32>;
using CodeF64 = Code<OpsF64, 6, 2, UnitsF64, UnitsF64>;
template <class Source>
using CodeWidened = Code<OpsF32, 6, 2, UnitsWidened<Source>, UnitsWidened<Source>,
                         DotOpsOf<OpsF32, DotsWidened<Source, Source>>, RowsOfHalves<Source>>;
template <class SourceA, class SourceB>
using CodeI16 = Code<OpsI16Pairs, 6, 2, UnitsI16<SourceA>, UnitsI16<SourceB>,
                     DotOpsOf<OpsI16Pairs, DotsWidened<SourceA, SourceB>>, RowsOfBytes<SourceB>>;
using CodeF16 = CodeWidened<f16>;
using CodeBf16 = CodeWidened<bf16>;
using CodeU8 = CodeI16<std::uint8_t, std::int8_t>;
using CodeU8Turned = CodeI16<std::int8_t, std::uint8_t>;
using CodeI8 = CodeI16<std::int8_t, std::int8_t>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_avx2_u8");
constexpr KernelCode kCode[] = {
    CodeF32::make("cpu_avx2_f32"),           CodeF64::make("cpu_avx2_f64"),
    CodeF16::make("cpu_avx2_f16"),           CodeBf16::make("cpu_avx2_bf16"),
    CodeU8::make("cpu_avx2_u8", &kU8Turned), CodeI8::make("cpu_avx2_i8"),
};

}  // namespace

std::span<const KernelCode> avx2_code() {
  return kCode;
}

}  // namespace tessera::cpu
