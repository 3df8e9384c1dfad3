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

// kLeading and kStride are the two byte offsets of the canonical layouts. Where k is contiguous,
// kStride leads to the next 8 rows and kLeading is unused; where it is not, kStride leads to the
// next 8 of k and kLeading to the next swizzle row's worth of rows. Only the low half depends on
// where the operand starts, which saves registers and time in the main loop.
template <int kSwizzleBytes, int kLeading, int kStride>
struct MatrixDescriptor {
  static constexpr std::uint64_t kHigh =
      std::uint64_t{kStride >> 4} << 32 | kSwizzleCode<kSwizzleBytes> << 62;

  __device__ static std::uint32_t low_half(const void* start) {
    return (shared_address(start) & 0x3ffff) >> 4 |
           static_cast<std::uint32_t>((kLeading & 0x3ffff) >> 4) << 16;
  }
  // Of the operand `bytes` further on, a multiple of 16.
  __device__ static std::uint32_t advanced(std::uint32_t low, int bytes) {
    return low + static_cast<std::uint32_t>(bytes) / 16;
  }
  __device__ static std::uint64_t at(std::uint32_t low, int bytes) {
    return kHigh | advanced(low, bytes);
  }
};

}  // namespace tessera::ptx
