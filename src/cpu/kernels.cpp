// Finds a kernel's code by the name that the catalogue gives it.
#include "cpu/kernels.hpp"

#include <algorithm>

namespace tessera::cpu {

const KernelCode* find_code(std::string_view name) {
  for (const auto unit : {amx_code(), amx_f64_code(), avx512_bf16_code(), avx512_vnni_code(),
                          avx512_code(), avx512_widened_code(), avx2_code(), scalar_code()}) {
    const auto found = std::ranges::find(unit, name, &KernelCode::name);
    if (found != unit.end()) return &*found;
  }
  return nullptr;
}

}  // namespace tessera::cpu
