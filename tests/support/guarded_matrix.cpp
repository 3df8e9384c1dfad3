#include "support/guarded_matrix.hpp"

#include <algorithm>
#include <limits>

#include "core/convert.hpp"
#include "core/reference.hpp"

namespace tessera::test {
namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::size_t kLineBytes = 64;

template <class T>
void put(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

void store(std::byte* to, ElementType type, double value) {
  switch (type) {
    case ElementType::f64:
      return put(to, value);
    case ElementType::f32:
      return put(to, static_cast<float>(value));
    case ElementType::f16:
      return put(to, to_f16(static_cast<float>(value)));
    case ElementType::bf16:
      return put(to, to_bf16(static_cast<float>(value)));
    case ElementType::i8:
      return put(to, static_cast<std::int8_t>(value));
    case ElementType::u8:
      return put(to, static_cast<std::uint8_t>(value));
    case ElementType::i32:
      return put(to, static_cast<std::int32_t>(value));
  }
}

bool is_integer(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8 || type == ElementType::i32;
}

// The sum of four uniform numbers, scaled to a variance of 1: nearly normal, with full mantissas.
// std::normal_distribution, two logarithms a number, took most of these tests' time.
double draw_normal(std::mt19937_64& random) {
  constexpr double kScale = 1.7320508075688772 / 65536;
  const std::uint64_t bits = random();
  const std::uint64_t sum =
      (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<double>(sum) - 2 * 65535.0) * kScale;
}

double draw(ElementType type, Fill fill, std::mt19937_64& random) {
  switch (fill) {
    case Fill::poison:
      return is_integer(type) ? 0x55 : std::numeric_limits<double>::quiet_NaN();
    case Fill::integers: {
      const auto value = static_cast<double>(random() % 7) - 3;
      return type == ElementType::u8 ? value + 3 : value;
    }
    case Fill::normal:
      break;
  }
  if (type == ElementType::u8) return static_cast<double>(random() % 256);
  if (is_integer(type)) return static_cast<double>(random() % 256) - 128;
  return draw_normal(random);
}

}  // namespace

GuardedMatrix::GuardedMatrix(ElementType type, std::int64_t rows, std::int64_t cols, Fill fill,
                             std::mt19937_64& random, Placement placement)
    : type_(type), rows_(rows), cols_(cols), offset_(kGuardBytes) {
  const std::int64_t inner = placement.column_major ? rows : cols;
  const std::int64_t outer = placement.column_major ? cols : rows;
  const std::int64_t outer_stride =
      std::max<std::int64_t>(1, inner * placement.step + placement.padding);
  row_stride_ = placement.column_major ? placement.step : outer_stride;
  col_stride_ = placement.column_major ? outer_stride : placement.step;

  const auto size = static_cast<std::size_t>(size_of(type));
  const std::size_t elements = static_cast<std::size_t>(outer * outer_stride);
  buffer_.resize(2 * kGuardBytes + kLineBytes + elements * size);
  if (placement.on_line) {
    offset_ += kLineBytes - reinterpret_cast<std::uintptr_t>(buffer_.data()) % kLineBytes;
  }
  for (std::size_t at = 0; at < buffer_.size(); at += size) {
    store(&buffer_[at], type, draw(type, Fill::poison, random));
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      store(element(row, col), type, draw(type, fill, random));
    }
  }
  pristine_ = buffer_;
}

std::byte* GuardedMatrix::element(std::int64_t row, std::int64_t col) {
  return buffer_.data() + offset_ +
         static_cast<std::size_t>((row * row_stride_ + col * col_stride_) * size_of(type_));
}

MatrixView GuardedMatrix::view() {
  return {buffer_.data() + offset_, rows_, cols_, row_stride_, col_stride_, type_};
}

ConstMatrixView GuardedMatrix::view() const {
  return {buffer_.data() + offset_, rows_, cols_, row_stride_, col_stride_, type_};
}

double GuardedMatrix::at(std::int64_t row, std::int64_t col) const {
  return element_at(view(), row, col);
}

std::string GuardedMatrix::damage() const {
  const auto size = static_cast<std::size_t>(size_of(type_));
  std::vector<std::byte> allowed = pristine_;
  for (std::int64_t row = 0; row < rows_; ++row) {
    for (std::int64_t col = 0; col < cols_; ++col) {
      const std::size_t at =
          offset_ + static_cast<std::size_t>(row * row_stride_ + col * col_stride_) * size;
      std::memcpy(&allowed[at], &buffer_[at], size);
    }
  }
  const auto first = std::ranges::mismatch(buffer_, allowed).in1;
  if (first == buffer_.end()) return {};
  return "byte " + std::to_string(first - buffer_.begin() - static_cast<std::ptrdiff_t>(offset_)) +
         " from the first element was overwritten";
}

}  // namespace tessera::test
