// The 64-bit matrix descriptor through which wgmma finds an operand in shared memory.
#pragma once

#include <cstdint>

namespace tessera::ptx {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// Bits 62 and 63 of a descriptor. A swizzle permutes 16-byte chunks within rows of that many bytes.
template <int kSwizzleBytes>
inline constexpr std::uint64_t kSwizzleCode = kSwizzleBytes == 128  ? 1
                                              : kSwizzleBytes == 64 ? 2
                                              : kSwizzleBytes == 32 ? 3
                                                                    : 0;

// `leading` and `stride` are the two byte offsets of the canonical layouts. Where k is contiguous,
// `stride` leads to the next 8 rows and `leading` is unused; where it is not, `stride` leads to the
// next 8 of k and `leading` to the next swizzle row's worth of rows.
template <int kSwizzleBytes>
__device__ inline std::uint64_t matrix_descriptor(const void* start, std::uint32_t leading,
                                                  std::uint32_t stride) {
  const auto field = [](std::uint32_t bytes) {
    return static_cast<std::uint64_t>((bytes & 0x3ffff) >> 4);
  };
  return field(shared_address(start)) | field(leading) << 16 | field(stride) << 32 |
         kSwizzleCode<kSwizzleBytes> << 62;
}

}  // namespace tessera::ptx
