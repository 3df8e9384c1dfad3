#include "cuda/device_matrix.hpp"

#include <algorithm>

#include "bench/cuda/random.cuh"
#include "cuda/device_scalar.cuh"

namespace tessera::test {
namespace {

constexpr std::int64_t kGuardBytes = 1024;
constexpr int kThreads = 256;

unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(
      std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, 8192));
}

__device__ double random_normal(std::uint64_t bits) {
  const double u = (static_cast<double>(bits >> 40) + 0.5) * 0x1p-24;
  const double v = static_cast<double>(bits & 0xffffff) * 0x1p-24;
  return sqrt(-2 * log(u)) * cospi(2 * v);
}

__global__ void fill_kernel(MatrixView view, DeviceFill fill, std::uint64_t seed) {
  const bool is_unsigned = view.type == ElementType::u8;
  const bool is_integer =
      is_unsigned || view.type == ElementType::i8 || view.type == ElementType::i32;
  for (std::int64_t i = first_index(); i < view.rows * view.cols; i += index_step()) {
    const std::int64_t row = i / view.cols;
    const std::int64_t col = i % view.cols;
    const std::uint64_t bits = mix(seed * 0x100000001b3 + static_cast<std::uint64_t>(i));
    double value = random_normal(bits);
    if (fill == DeviceFill::integers) {
      value = static_cast<double>(bits % 7) - (is_unsigned ? 0 : 3);
    } else if (is_integer) {
      value = static_cast<double>(bits % 201) - (is_unsigned ? 0 : 100);
    }
    store_scalar(view.data, row * view.row_stride + col * view.col_stride, view.type, value);
  }
}

// Counts bytes other than 0xff in buffer elements that are not the matrix's.
__global__ void damage_kernel(MatrixView view, bool rows_outside, const unsigned char* buffer,
                              std::int64_t first, std::int64_t elements, int size,
                              unsigned long long* damaged) {
  const std::int64_t outer_stride = rows_outside ? view.row_stride : view.col_stride;
  const std::int64_t inner_stride = rows_outside ? view.col_stride : view.row_stride;
  const std::int64_t outers = rows_outside ? view.rows : view.cols;
  const std::int64_t inners = rows_outside ? view.cols : view.rows;
  for (std::int64_t e = first_index(); e < elements; e += index_step()) {
    const std::int64_t at = e - first;
    if (at >= 0) {
      const std::int64_t inner = at % outer_stride;
      if (at / outer_stride < outers && inner % inner_stride == 0 &&
          inner / inner_stride < inners) {
        continue;
      }
    }
    for (int byte = 0; byte < size; ++byte) {
      if (buffer[e * size + byte] != 0xff) atomicAdd(damaged, 1ULL);
    }
  }
}

__global__ void difference_kernel(MatrixView p, MatrixView q, int size,
                                  unsigned long long* differences) {
  const auto* const p_bytes = static_cast<const unsigned char*>(p.data);
  const auto* const q_bytes = static_cast<const unsigned char*>(q.data);
  unsigned long long found = 0;
  for (std::int64_t i = first_index(); i < p.rows * p.cols; i += index_step()) {
    const std::int64_t row = i / p.cols;
    const std::int64_t col = i % p.cols;
    const std::int64_t p_at = (row * p.row_stride + col * p.col_stride) * size;
    const std::int64_t q_at = (row * q.row_stride + col * q.col_stride) * size;
    bool same = true;
    for (int byte = 0; byte < size; ++byte)
      same = same && p_bytes[p_at + byte] == q_bytes[q_at + byte];
    found += same ? 0 : 1;
  }
  if (found > 0) atomicAdd(differences, found);
}

// A counter in device memory, read back after the work that counted.
class Counter {
 public:
  explicit Counter(cudaStream_t stream) : buffer_(sizeof(unsigned long long)), stream_(stream) {
    check(cudaMemsetAsync(buffer_.data(), 0, buffer_.size(), stream_));
  }
  unsigned long long* device() const { return static_cast<unsigned long long*>(buffer_.data()); }
  std::int64_t read() const {
    unsigned long long value = 0;
    check(cudaGetLastError());
    check(cudaMemcpyAsync(&value, buffer_.data(), sizeof value, cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return static_cast<std::int64_t>(value);
  }

 private:
  DeviceBuffer buffer_;
  cudaStream_t stream_;
};

}  // namespace

DeviceMatrix::DeviceMatrix(ElementType type, std::int64_t rows, std::int64_t cols, DeviceFill fill,
                           std::uint64_t seed, const DeviceLayout& layout)
    : buffer_([&] {
        const std::int64_t outers = layout.column_major ? cols : rows;
        const std::int64_t inners = layout.column_major ? rows : cols;
        const std::int64_t outer_stride =
            std::max<std::int64_t>(inners * layout.step, 1) + layout.padding;
        const std::int64_t bytes = (outers * outer_stride + layout.offset) * size_of(type);
        return static_cast<std::size_t>((bytes + 2 * kGuardBytes + 255) / 256 * 256);
      }()) {
  const std::int64_t inners = layout.column_major ? rows : cols;
  const std::int64_t outer_stride =
      std::max<std::int64_t>(inners * layout.step, 1) + layout.padding;
  rows_outside_ = !layout.column_major;
  first_ = kGuardBytes / size_of(type) + layout.offset;
  elements_ = static_cast<std::int64_t>(buffer_.size()) / size_of(type);
  view_ = {.data = static_cast<char*>(buffer_.data()) + first_ * size_of(type),
           .rows = rows,
           .cols = cols,
           .row_stride = layout.column_major ? layout.step : outer_stride,
           .col_stride = layout.column_major ? outer_stride : layout.step,
           .type = type};
  check(cudaMemsetAsync(buffer_.data(), 0xff, buffer_.size(), nullptr));
  if (fill != DeviceFill::poison && rows * cols > 0) {
    fill_kernel<<<blocks_for(rows * cols), kThreads>>>(view_, fill, seed);
    check(cudaGetLastError());
  }
}

void DeviceMatrix::copy_from(const DeviceMatrix& other, cudaStream_t stream) {
  check(cudaMemcpyAsync(buffer_.data(), other.buffer_.data(), buffer_.size(),
                        cudaMemcpyDeviceToDevice, stream));
}

std::string DeviceMatrix::damage() const {
  const Counter damaged(nullptr);
  damage_kernel<<<blocks_for(elements_), kThreads>>>(
      view_, rows_outside_, static_cast<const unsigned char*>(buffer_.data()), first_, elements_,
      size_of(view_.type), damaged.device());
  const std::int64_t bytes = damaged.read();
  return bytes == 0 ? "" : std::to_string(bytes) + " bytes outside the matrix were overwritten";
}

std::int64_t DeviceMatrix::count_differences(const DeviceMatrix& other, cudaStream_t stream) const {
  const Counter differences(stream);
  if (view_.rows * view_.cols > 0) {
    difference_kernel<<<blocks_for(view_.rows * view_.cols), kThreads, 0, stream>>>(
        view_, other.view_, size_of(view_.type), differences.device());
  }
  return differences.read();
}

}  // namespace tessera::test
