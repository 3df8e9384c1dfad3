#include "bench/provenance.hpp"

#include <fmt/chrono.h>

#include <ctime>

namespace tessera::bench {

std::string commit_of_build() {
  return
#include "commit.inc"
      ;
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace tessera::bench
