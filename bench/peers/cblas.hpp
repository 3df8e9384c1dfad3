// What OpenBLAS and BLIS have in common: the cblas interface, in builds with 32- or 64-bit integers
// and with symbol prefixes and suffixes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/peer.hpp"
#include "bench/shared_library.hpp"

namespace tessera::bench {

struct CblasNaming {
  std::string prefix;  // "scipy_"
  std::string suffix;  // "64_"
  bool wide_integers = false;

  std::string operator()(const std::string& function) const { return prefix + function + suffix; }
};

// cblas_sgemm and cblas_dgemm, and cblas_sbgemm where the build has it, one call per group.
std::vector<PeerCall> prepare_cblas(const SharedLibrary& library, const CblasNaming& naming,
                                    const std::vector<Operands>& groups, double alpha, double beta);

}  // namespace tessera::bench
