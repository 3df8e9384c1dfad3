// redux: a value that is the same in all lanes of a warp, in a form from which the compiler knows
// it and keeps what follows from it in uniform registers. wgmma takes its descriptors from there.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline std::uint32_t uniform(std::uint32_t value) {
  return __reduce_or_sync(0xffffffff, value);
}
__device__ inline int uniform(int value) {
  return static_cast<int>(uniform(static_cast<std::uint32_t>(value)));
}

}  // namespace tessera::ptx
