// Another build of Tessera, to compare with: an earlier commit's, or one with other options.
#pragma once

#include <memory>
#include <string>

#include "bench/peer.hpp"

namespace tessera::bench {

std::unique_ptr<Peer> load_tessera(const std::string& path);

}  // namespace tessera::bench
