// Where a matrix begins in memory, for tests of what depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera::test {

// A copy of a matrix of rows, so many bytes behind the beginning of a line.
class BehindALine {
 public:
  BehindALine(const ConstMatrixView& from, std::size_t bytes) : view_(from) {
    const auto size = static_cast<std::size_t>(from.rows * from.row_stride * size_of(from.type));
    memory_.resize(size + 128);
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.data());
    std::byte* to = memory_.data() + (64 - start % 64) + bytes;
    std::memcpy(to, from.data, size);
    view_.data = to;
  }
  const ConstMatrixView& view() const { return view_; }

 private:
  std::vector<std::byte> memory_;
  ConstMatrixView view_;
};

}  // namespace tessera::test
