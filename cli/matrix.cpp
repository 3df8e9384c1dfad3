#include "cli/matrix.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t kAlignment = 64;

// From this size on matrices lie in huge pages where the system gives them on request, as NumPy's
// arrays do: a product of them walks fewer page tables, 1 % of 2000³ in f32 (docs/notebook_cpu.md),
// and memory that is touched for the first time comes in larger pieces.
constexpr std::size_t kLargeMatrix = std::size_t{4} << 20;

// Of the whole pages among so many bytes.
void ask_for_huge_pages(std::byte* data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t into_page = reinterpret_cast<std::uintptr_t>(data) % kPage;
  const std::size_t skipped = (kPage - into_page) % kPage;
  madvise(data + skipped, (bytes - skipped) / kPage * kPage, MADV_HUGEPAGE);
}

}  // namespace

Matrix::Matrix(std::int64_t rows, std::int64_t cols, ElementType type, Major major)
    : rows_(rows), cols_(cols), type_(type), major_(major) {
  std::int64_t bytes = 0;
  const bool too_large = __builtin_mul_overflow(rows, cols, &bytes) ||
                         __builtin_mul_overflow(bytes, size_of(type), &bytes) ||
                         __builtin_add_overflow(bytes, kAlignment, &bytes);
  if (!too_large) {
    size_ = static_cast<std::size_t>(bytes) - kAlignment;
    const std::size_t rounded = (size_ + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded + kAlignment)),
                  std::free);
    if (memory_ != nullptr && size_ >= kLargeMatrix) ask_for_huge_pages(memory_.get(), size_);
  }
  if (memory_ == nullptr) {
    throw Error(ErrorCode::out_of_memory, "memory",
                fmt::format("hold a {}x{} matrix of {}", rows, cols, name_of(type)),
                too_large ? "more bytes than can be counted" : fmt::format("{} bytes", size_),
                "use a smaller product or a machine with more memory");
  }
}

Matrix Matrix::part(std::int64_t first, std::int64_t count) const {
  Matrix result;
  result.rows_ = count;
  result.cols_ = cols_;
  result.type_ = type_;
  result.major_ = major_;
  const std::int64_t row_bytes = cols_ * size_of(type_);
  result.size_ = static_cast<std::size_t>(count * row_bytes);
  result.memory_ = {memory_, memory_.get() + first * row_bytes};
  return result;
}

MatrixView Matrix::view() {
  const bool by_rows = major_ == Major::row;
  return {memory_.get(), rows_, cols_, by_rows ? cols_ : 1, by_rows ? 1 : rows_, type_};
}

ConstMatrixView Matrix::view() const {
  return const_cast<Matrix*>(this)->view();
}

std::span<std::byte> Matrix::bytes() {
  return {memory_.get(), size_};
}

std::span<const std::byte> Matrix::bytes() const {
  return {memory_.get(), size_};
}

}  // namespace tessera::cli
