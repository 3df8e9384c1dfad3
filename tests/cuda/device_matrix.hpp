// A matrix in device memory for tests: random contents made on the device, guard bands on both
// sides and padding between rows, all of it 0xff bytes, which is NaN in every floating-point type.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cuda/device.hpp"
#include "tessera/matrix_view.hpp"

namespace tessera::test {

enum class DeviceFill {
  normal,    // standard normal, rounded to the type; whole numbers from −100 to 100 for integers
  integers,  // whole numbers from −3 to 3 (0 to 6 for unsigned): small products are exact
  poison,    // 0xff bytes
};

struct DeviceLayout {
  bool column_major = false;
  std::int64_t padding = 0;  // elements between the end of a row (column) and the next
  std::int64_t step = 1;     // stride along a row (column)
  std::int64_t offset = 0;   // elements by which the first one misses a 256-byte boundary
};

class DeviceMatrix {
 public:
  DeviceMatrix(ElementType type, std::int64_t rows, std::int64_t cols, DeviceFill fill,
               std::uint64_t seed, const DeviceLayout& layout = {});

  MatrixView view() const { return view_; }

  // Another one with the same buffer, once all that the device does is done.
  DeviceMatrix copy() const;
  // Copies the other's whole buffer, guards included. Both have the same shape and layout.
  void copy_from(const DeviceMatrix& other, cudaStream_t stream = nullptr);

  // Empty, or what was written outside the matrix's own elements.
  std::string damage() const;

  // Empty, or what differs from another matrix of the same layout outside these parts of this one,
  // guards and padding included.
  std::string changes_outside(std::span<const MatrixView> parts, const DeviceMatrix& before) const;

  // How many elements differ bitwise from another matrix of the same shape and layout.
  std::int64_t count_differences(const DeviceMatrix& other, cudaStream_t stream = nullptr) const;

 private:
  DeviceLayout layout_;
  DeviceBuffer buffer_;
  MatrixView view_;
  bool rows_outside_ = true;
  std::int64_t first_ = 0;     // buffer elements before element (0, 0)
  std::int64_t elements_ = 0;  // of the whole buffer
};

}  // namespace tessera::test
