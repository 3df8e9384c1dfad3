#include "bench/cuda/device.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "bench/cuda/random.cuh"
#include "cuda/check.hpp"

namespace tessera::bench {
namespace {

constexpr int kThreads = 512;

template <class T>
__global__ void fill_kernel(T* data, std::int64_t elements, std::uint64_t seed) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::uint64_t bits = mix(seed * 0x100000001b3 + static_cast<std::uint64_t>(i));
    if constexpr (sizeof(T) == 1) {
      data[i] = static_cast<T>(static_cast<int>(bits % 201) - 100);
    } else {
      const float u = (static_cast<float>(bits >> 40) + 0.5F) * 0x1p-24F;
      const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24F;
      data[i] = static_cast<T>(sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
  }
}

__global__ void read_kernel(const uint4* data, std::int64_t pieces, uint4* never) {
  std::uint32_t sum = 0;
  for (std::int64_t i = first_index(); i < pieces; i += index_step()) {
    const uint4 piece = __ldcg(data + i);
    sum += piece.x ^ piece.y ^ piece.z ^ piece.w;
  }
  // The memory is zeroed, so the sum is 0; the compiler cannot know and must keep the reads.
  if (sum != 0) *never = {sum, sum, sum, sum};
}

template <class T>
__global__ void difference_kernel(const T* p, const T* q, std::int64_t elements,
                                  unsigned* largest) {
  float difference = 0;
  float value = 0;
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const float x = static_cast<float>(p[i]);
    const float y = static_cast<float>(q[i]);
    const float d = fabsf(x - y);
    // A NaN counts as an infinite difference.
    difference = fmaxf(difference, d == d ? d : __int_as_float(0x7f800000));
    value = fmaxf(value, fabsf(y));
  }
  // Magnitudes order as their bits do.
  atomicMax(&largest[0], __float_as_uint(difference));
  atomicMax(&largest[1], __float_as_uint(value));
}

// Calls run(T*{}) with the arithmetic type of `type`.
template <class Run>
void with_type(ElementType type, Run run) {
  switch (type) {
    case ElementType::f64:
      return run(static_cast<double*>(nullptr));
    case ElementType::f32:
      return run(static_cast<float*>(nullptr));
    case ElementType::f16:
      return run(static_cast<__half*>(nullptr));
    case ElementType::bf16:
      return run(static_cast<__nv_bfloat16*>(nullptr));
    case ElementType::i8:
      return run(static_cast<std::int8_t*>(nullptr));
    case ElementType::u8:
      return run(static_cast<std::uint8_t*>(nullptr));
    case ElementType::i32:
      return run(static_cast<std::int32_t*>(nullptr));
  }
}

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, 2048));
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  cuda::check(cudaMalloc(&data_, bytes), "allocating device memory for the benchmark");
  cuda::check(cudaMemset(data_, 0, bytes), "clearing device memory");
}

DeviceMemory::~DeviceMemory() {
  cudaFree(data_);
}

void fill_random(void* data, std::int64_t elements, ElementType type, std::uint64_t seed,
                 cudaStream_t stream) {
  with_type(type, [&]<class T>(T*) {
    fill_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(static_cast<T*>(data), elements,
                                                               seed);
  });
  cuda::check(cudaGetLastError(), "filling operands");
}

void flush_cache(const DeviceMemory& memory, cudaStream_t stream) {
  read_kernel<<<1024, kThreads, 0, stream>>>(
      reinterpret_cast<const uint4*>(memory.data()),
      static_cast<std::int64_t>(memory.size() / sizeof(uint4)),
      reinterpret_cast<uint4*>(memory.data()));
  cuda::check(cudaGetLastError(), "flushing the cache");
}

double largest_difference(const void* p, const void* q, std::int64_t elements, ElementType type,
                          cudaStream_t stream) {
  const DeviceMemory largest(2 * sizeof(float));
  with_type(type, [&]<class T>(T*) {
    difference_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        static_cast<const T*>(p), static_cast<const T*>(q), elements,
        reinterpret_cast<unsigned*>(largest.data()));
  });
  float host[2] = {};
  cuda::check(cudaMemcpyAsync(host, largest.data(), sizeof host, cudaMemcpyDeviceToHost, stream),
              "comparing results");
  cuda::check(cudaStreamSynchronize(stream), "comparing results");
  return host[0] == 0 ? 0 : static_cast<double>(host[0]) / static_cast<double>(host[1]);
}

}  // namespace tessera::bench
