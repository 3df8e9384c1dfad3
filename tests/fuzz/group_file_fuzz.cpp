// Group files from anywhere: refused with an Error, or a list of named operands.
#include "cli/group_file.hpp"
#include "tests/fuzz/fuzz.hpp"

TESSERA_FUZZ(bytes) {
  for (const auto& product : tessera::cli::parse_group_file(bytes, "folder", "fuzz.json")) {
    tessera::fuzz::require(!product.a.empty() && !product.b.empty());
  }
}
