#include "cuda/device_matrix.hpp"

#include <algorithm>

#include "bench/cuda/random.cuh"
#include "cuda/device_scalar.cuh"
#include "cuda/tally.cuh"

namespace tessera::test {
namespace {

constexpr std::int64_t kGuardBytes = 1024;
constexpr int kThreads = 256;
constexpr std::int64_t kGridRows = 65535;

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
                              std::int64_t first, std::int64_t elements, int size, Tally* damaged) {
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
      if (buffer[e * size + byte] != 0xff) damaged->note(e * size + byte);
    }
  }
}

__device__ bool is_same(const unsigned char* p, const unsigned char* q, int size) {
  bool same = true;
  for (int byte = 0; byte < size; ++byte) same = same && p[byte] == q[byte];
  return same;
}

__global__ void difference_kernel(MatrixView p, MatrixView q, int size, Tally* differences) {
  const auto* const p_bytes = static_cast<const unsigned char*>(p.data);
  const auto* const q_bytes = static_cast<const unsigned char*>(q.data);
  for (std::int64_t i = first_index(); i < p.rows * p.cols; i += index_step()) {
    const std::int64_t row = i / p.cols;
    const std::int64_t col = i % p.cols;
    const std::int64_t p_at = (row * p.row_stride + col * p.col_stride) * size;
    const std::int64_t q_at = (row * q.row_stride + col * q.col_stride) * size;
    if (!is_same(p_bytes + p_at, q_bytes + q_at, size)) differences->note(i);
  }
}

// One block row per part.
__global__ void mark_kernel(const MatrixView* parts, std::int64_t count, const void* buffer,
                            int size, bool* is_owned) {
  for (std::int64_t which = blockIdx.y; which < count; which += gridDim.y) {
    const MatrixView part = parts[which];
    bool* const first =
        is_owned + (static_cast<const char*>(part.data) - static_cast<const char*>(buffer)) / size;
    for (std::int64_t i = first_index(); i < part.rows * part.cols; i += index_step()) {
      first[i / part.cols * part.row_stride + i % part.cols * part.col_stride] = true;
    }
  }
}

__global__ void changes_kernel(const unsigned char* after, const unsigned char* before,
                               const bool* is_owned, std::int64_t elements, int size,
                               Tally* changes) {
  for (std::int64_t e = first_index(); e < elements; e += index_step()) {
    if (!is_owned[e] && !is_same(after + e * size, before + e * size, size)) changes->note(e);
  }
}

}  // namespace

DeviceMatrix::DeviceMatrix(ElementType type, std::int64_t rows, std::int64_t cols, DeviceFill fill,
                           std::uint64_t seed, const DeviceLayout& layout)
    : layout_(layout), buffer_([&] {
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

DeviceMatrix DeviceMatrix::copy() const {
  check(cudaDeviceSynchronize());
  DeviceMatrix twin(view_.type, view_.rows, view_.cols, DeviceFill::poison, 0, layout_);
  twin.copy_from(*this);
  check(cudaDeviceSynchronize());
  return twin;
}

void DeviceMatrix::copy_from(const DeviceMatrix& other, cudaStream_t stream) {
  check(cudaMemcpyAsync(buffer_.data(), other.buffer_.data(), buffer_.size(),
                        cudaMemcpyDeviceToDevice, stream));
}

std::string DeviceMatrix::damage() const {
  const DeviceTally damaged;
  damage_kernel<<<blocks_for(elements_), kThreads>>>(
      view_, rows_outside_, static_cast<const unsigned char*>(buffer_.data()), first_, elements_,
      size_of(view_.type), damaged.device());
  const unsigned long long bytes = damaged.read().count;
  return bytes == 0 ? "" : std::to_string(bytes) + " bytes outside the matrix were overwritten";
}

std::string DeviceMatrix::changes_outside(std::span<const MatrixView> parts,
                                          const DeviceMatrix& before) const {
  const DeviceBuffer is_owned(static_cast<std::size_t>(elements_));
  check(cudaMemsetAsync(is_owned.data(), 0, is_owned.size(), nullptr));
  std::int64_t largest = 0;
  for (const MatrixView& part : parts) largest = std::max(largest, part.rows * part.cols);
  const DeviceBuffer uploaded(parts.size_bytes());
  if (largest > 0) {
    check(cudaMemcpy(uploaded.data(), parts.data(), parts.size_bytes(), cudaMemcpyHostToDevice));
    const auto count = static_cast<std::int64_t>(parts.size());
    const dim3 grid(blocks_for(largest), static_cast<unsigned>(std::min(count, kGridRows)));
    mark_kernel<<<grid, kThreads>>>(static_cast<const MatrixView*>(uploaded.data()), count,
                                    buffer_.data(), size_of(view_.type),
                                    static_cast<bool*>(is_owned.data()));
  }
  const DeviceTally changes;
  changes_kernel<<<blocks_for(elements_), kThreads>>>(
      static_cast<const unsigned char*>(buffer_.data()),
      static_cast<const unsigned char*>(before.buffer_.data()),
      static_cast<const bool*>(is_owned.data()), elements_, size_of(view_.type), changes.device());
  const Tally found = changes.read();
  if (found.count == 0) return "";
  return std::to_string(found.count) + " elements outside all products changed, the first at " +
         std::to_string(static_cast<std::int64_t>(found.first) - first_);
}

std::int64_t DeviceMatrix::count_differences(const DeviceMatrix& other, cudaStream_t stream) const {
  const DeviceTally differences(stream);
  if (view_.rows * view_.cols > 0) {
    difference_kernel<<<blocks_for(view_.rows * view_.cols), kThreads, 0, stream>>>(
        view_, other.view_, size_of(view_.type), differences.device());
  }
  return static_cast<std::int64_t>(differences.read().count);
}

}  // namespace tessera::test
