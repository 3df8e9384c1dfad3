// oneDNN: https://github.com/oneapi-src/oneDNN
#pragma once

#include <memory>
#include <string>

#include "bench/peer.hpp"

namespace tessera::bench {

// An empty path stands for the usual names. Throws Error(unsupported).
std::unique_ptr<Peer> load_onednn(const std::string& path);

}  // namespace tessera::bench
