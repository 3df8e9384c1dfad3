// BLIS and AOCL-BLIS: https://github.com/flame/blis
#pragma once

#include <memory>
#include <string>

#include "bench/peer.hpp"

namespace tessera::bench {

// An empty path stands for the usual names. Throws Error(unsupported).
std::unique_ptr<Peer> load_blis(const std::string& path);

}  // namespace tessera::bench
