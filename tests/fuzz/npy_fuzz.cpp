// .npy files from anywhere: refused with an Error, or a matrix of exactly the bytes that the file
// has.
#include <sstream>

#include "cli/npy.hpp"
#include "tests/fuzz/fuzz.hpp"

TESSERA_FUZZ(bytes) {
  std::istringstream in{std::string(bytes)};
  const tessera::cli::Matrix matrix =
      tessera::cli::read_npy(in, "fuzz.npy", tessera::cli::Uint16::is_bf16);
  tessera::fuzz::require(matrix.rows() >= 0 && matrix.cols() >= 0);
  tessera::fuzz::require(matrix.bytes().size() < bytes.size());
  tessera::fuzz::require(
      matrix.bytes().empty() ||
      bytes.ends_with(std::string_view(reinterpret_cast<const char*>(matrix.bytes().data()),
                                       matrix.bytes().size())));
}
