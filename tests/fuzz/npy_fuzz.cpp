// .npy files from anywhere: refused with an Error, or matrices of exactly the bytes that the file
// has.
#include <sstream>
#include <string>

#include "cli/npy.hpp"
#include "tests/fuzz/fuzz.hpp"

TESSERA_FUZZ(bytes) {
  std::istringstream in{std::string(bytes)};
  const tessera::cli::MatrixStack stack =
      tessera::cli::read_npy_stack(in, "fuzz.npy", tessera::cli::Uint16::is_bf16);
  tessera::fuzz::require(!stack.matrices.empty());
  std::string all;
  for (const tessera::cli::Matrix& matrix : stack.matrices) {
    tessera::fuzz::require(matrix.rows() >= 0 && matrix.cols() >= 0);
    tessera::fuzz::require(all.size() + matrix.bytes().size() < bytes.size());
    all.append(reinterpret_cast<const char*>(matrix.bytes().data()), matrix.bytes().size());
  }
  tessera::fuzz::require(bytes.ends_with(all));
}
