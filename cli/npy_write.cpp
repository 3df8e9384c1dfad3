// The writing half of npy.hpp.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "cli/atomic_file.hpp"
#include "cli/npy.hpp"
#include "cli/npy_format.hpp"

namespace tessera::cli {
namespace {

constexpr std::size_t kHeaderAlignment = 64;

std::string_view descr_of(ElementType type) {
  for (const StoredType& row : kStoredTypes) {
    if (row.type == type) return row.descr;
  }
  return "?";
}

// `shape` is what the header says of the matrices together.
void write_matrices(const std::filesystem::path& path, const std::vector<const Matrix*>& matrices,
                    const std::vector<std::int64_t>& shape) {
  const ElementType type = matrices.front()->type();
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}), }}",
                                   size_of(type) == 1 ? '|' : '<', descr_of(type),
                                   matrices.front()->major() == Major::column ? "True" : "False",
                                   fmt::join(shape, ", "));
  const std::size_t before = kMagic.size() + 4;
  header.append(kHeaderAlignment - (before + header.size() + 1) % kHeaderAlignment, ' ');
  header += '\n';
  const std::array<char, 4> version_and_size = {1, 0, static_cast<char>(header.size() & 0xff),
                                                static_cast<char>(header.size() >> 8)};
  AtomicFile file(path);
  file.write(kMagic);
  file.write(std::string_view(version_and_size.data(), version_and_size.size()));
  file.write(header);
  for (const Matrix* const matrix : matrices) file.write(matrix->bytes());
  file.commit();
}

}  // namespace

void write_npy(const std::filesystem::path& path, const Matrix& matrix) {
  write_matrices(path, {&matrix}, {matrix.rows(), matrix.cols()});
}

void write_npy_stack(const std::filesystem::path& path,
                     const std::vector<const Matrix*>& matrices) {
  const Matrix& first = *matrices.front();
  write_matrices(path, matrices,
                 {static_cast<std::int64_t>(matrices.size()), first.rows(), first.cols()});
}

}  // namespace tessera::cli
