// The gated pair on the device against the same call on the host: ragged rows, masked rows, strided
// batches and single products. Rows that no group owns stay as they were, and so does all of C
// where the sizes are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "core/convert.hpp"
#include "cuda/device.hpp"
#include "tessera/error.hpp"
#include "tessera/grouped.hpp"

namespace tessera::test {
namespace {

constexpr std::int64_t kGroups = 5;
constexpr std::int64_t kRows = 150;  // of all groups, or of each
constexpr std::int64_t kHidden = 72;
constexpr std::int64_t kInner = 136;

float value_of(float value) {
  return value;
}
float value_of(bf16 value) {
  return to_float(value);
}
float value_of(f16 value) {
  return to_float(value);
}
template <class T>
T made_of(float value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else if constexpr (std::is_same_v<T, f16>) {
    return to_f16(value);
  } else {
    return value;
  }
}

// A copy in device memory.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values)
      : size_(values.size()), buffer_(values.size() * sizeof(T)) {
    check(cudaMemcpy(buffer_.data(), values.data(), buffer_.size(), cudaMemcpyHostToDevice));
  }
  T* data() const { return static_cast<T*>(buffer_.data()); }
  std::vector<T> download() const {
    std::vector<T> values(size_);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), buffer_.data(), buffer_.size(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t size_;
  DeviceBuffer buffer_;
};

template <class T>
std::vector<T> drawn(std::int64_t count, std::uint64_t seed, float scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = made_of<T>(scale * normal(random));
  return values;
}

// One layer's matrices, on the host and on the device.
template <class T>
struct Layer {
  std::vector<T> a = drawn<T>(kGroups * kRows * kHidden, 1, 1);
  std::vector<T> gate = drawn<T>(kGroups * kHidden * kInner, 2, 0.1f);
  std::vector<T> up = drawn<T>(kGroups * kHidden * kInner, 3, 0.1f);
  std::vector<T> c = std::vector<T>(kGroups * kRows * kInner, made_of<T>(7));
  OnDevice<T> device_a{a}, device_gate{gate}, device_up{up}, device_c{c};

  // Calls `run(a, gate, up, c, device)` on both and compares.
  template <class Run>
  void expect_alike(Run run) {
    run(std::as_const(a).data(), std::as_const(gate).data(), std::as_const(up).data(), c.data(),
        kHost);
    run(static_cast<const T*>(device_a.data()), static_cast<const T*>(device_gate.data()),
        static_cast<const T*>(device_up.data()), device_c.data(), 0);
    const std::vector<T> found = device_c.download();
    const float tolerance = sizeof(T) == 2 ? 0.01f : 1e-5f;
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const float expected = value_of(c[i]);
      wrong += std::abs(value_of(found[i]) - expected) > tolerance * (1 + std::abs(expected));
    }
    EXPECT_EQ(wrong, 0);
  }
};

// Sizes where each call finds them.
template <class Number>
struct Sizes {
  explicit Sizes(const std::vector<Number>& numbers) : host(numbers), device(numbers) {}

  IndexArray at(int where) const {
    IndexArray array = index_array(std::span<const Number>(host));
    if (where != kHost) array.data = device.data();
    return array;
  }

  std::vector<Number> host;
  OnDevice<Number> device;
};

template <class T>
class GatedOnDevice : public CudaTest {};
using Types = ::testing::Types<bf16, f16, float>;
TYPED_TEST_SUITE(GatedOnDevice, Types);

TYPED_TEST(GatedOnDevice, RaggedRows) {
  using T = TypeParam;
  const Sizes<std::int32_t> offsets({3, 60, 60, 61, 140, 145});
  for (const Activation activation : {Activation::silu, Activation::gelu_tanh}) {
    Layer<T> layer;
    layer.expect_alike([&](const T* a, const T* gate, const T* up, T* c, int device) {
      const RaggedRows rows{row_major(a, kRows, kHidden),
                            offsets.at(device),
                            batch(gate, kGroups, kHidden, kInner),
                            row_major(c, kRows, kInner),
                            {}};
      gated_gemm(rows, batch(up, kGroups, kHidden, kInner), activation, {.device = device});
    });
  }
}

// Weights as (G, N, K).
TYPED_TEST(GatedOnDevice, TransposedWeights) {
  using T = TypeParam;
  const Sizes<std::int64_t> offsets({0, 1, 40, 41, 100, 150});
  Layer<T> layer;
  layer.expect_alike([&](const T* a, const T* gate, const T* up, T* c, int device) {
    const RaggedRows rows{row_major(a, kRows, kHidden),
                          offsets.at(device),
                          batch(gate, kGroups, kInner, kHidden).transposed(),
                          row_major(c, kRows, kInner),
                          {}};
    gated_gemm(rows, batch(up, kGroups, kInner, kHidden).transposed(), Activation::silu,
               {.device = device});
  });
}

TYPED_TEST(GatedOnDevice, MaskedRows) {
  using T = TypeParam;
  const Sizes<std::int64_t> counts({0, 150, 1, 77, 0});
  Layer<T> layer;
  layer.expect_alike([&](const T* a, const T* gate, const T* up, T* c, int device) {
    const MaskedRows masked{batch(a, kGroups, kRows, kHidden),
                            counts.at(device),
                            batch(gate, kGroups, kHidden, kInner),
                            batch(c, kGroups, kRows, kInner),
                            {}};
    gated_gemm(masked, batch(up, kGroups, kHidden, kInner), Activation::silu, {.device = device});
  });
}

TYPED_TEST(GatedOnDevice, BatchAndSingle) {
  using T = TypeParam;
  Layer<T> batched;
  batched.expect_alike([&](const T* a, const T* gate, const T* up, T* c, int device) {
    const StridedBatch all{batch(a, kGroups, kRows, kHidden),
                           batch(gate, kGroups, kHidden, kInner),
                           batch(c, kGroups, kRows, kInner),
                           {}};
    gated_gemm(all, batch(up, kGroups, kHidden, kInner), Activation::silu, {.device = device});
  });
  Layer<T> single;
  single.expect_alike([&](const T* a, const T* gate, const T* up, T* c, int device) {
    gated_gemm(row_major(a, kRows, kHidden), row_major(gate, kHidden, kInner),
               row_major(up, kHidden, kInner), row_major(c, kRows, kInner), Activation::relu,
               {.device = device});
  });
}

TYPED_TEST(GatedOnDevice, WrongSizesWriteNothing) {
  using T = TypeParam;
  const Sizes<std::int32_t> offsets({0, 60, 50, 61, 140, 145});
  Layer<T> layer;
  const RaggedRows rows{
      row_major(static_cast<const T*>(layer.device_a.data()), kRows, kHidden),
      offsets.at(0),
      batch(static_cast<const T*>(layer.device_gate.data()), kGroups, kHidden, kInner),
      row_major(layer.device_c.data(), kRows, kInner),
      {}};
  gated_gemm(rows, batch(static_cast<const T*>(layer.device_up.data()), kGroups, kHidden, kInner),
             Activation::silu, {.device = 0});
  const std::vector<T> after = layer.device_c.download();
  EXPECT_TRUE(std::equal(after.begin(), after.end(), layer.c.begin(),
                         [](T p, T q) { return value_of(p) == value_of(q); }));
  EXPECT_THROW(check_sizes({.device = 0}), Error);
}

}  // namespace
}  // namespace tessera::test
