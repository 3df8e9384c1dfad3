// Microkernels for AVX-512 F, BW, DQ and VL of the types that these widen before they multiply.
#include "cpu/kernels.hpp"
#include "cpu/make_code.hpp"
#include "cpu/ops_avx512.hpp"
#include "cpu/widened_avx512.hpp"

namespace tessera::cpu {
namespace {

template <class Source>
using CodeWidened = Code<OpsF32, 12, 2, UnitsWidened<Source>, UnitsWidened<Source>,
                         DotOpsOf<OpsF32, DotsWidened<Source, Source>>, RowsOfHalves<Source>>;
template <class SourceA, class SourceB>
using CodeI16 = Code<OpsI16Pairs, 12, 2, UnitsI16<SourceA>, UnitsI16<SourceB>,
                     DotOpsOf<OpsI16Pairs, DotsWidened<SourceA, SourceB>>, RowsOfBytes<SourceB>>;
using CodeF16 = CodeWidened<f16>;
using CodeBf16 = CodeWidened<bf16>;
using CodeU8 = CodeI16<std::uint8_t, std::int8_t>;
using CodeU8Turned = CodeI16<std::int8_t, std::uint8_t>;
using CodeI8 = CodeI16<std::int8_t, std::int8_t>;

constexpr KernelCode kU8Turned = CodeU8Turned::make("cpu_avx512_u8");
constexpr KernelCode kCode[] = {
    CodeF16::make("cpu_avx512_f16"),
    CodeBf16::make("cpu_avx512_bf16"),
    CodeU8::make("cpu_avx512_u8", &kU8Turned),
    CodeI8::make("cpu_avx512_i8"),
};

}  // namespace

std::span<const KernelCode> avx512_widened_code() {
  return kCode;
}

}  // namespace tessera::cpu
