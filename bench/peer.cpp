#include "bench/peer.hpp"

#include <array>

#include "bench/peers/blis.hpp"
#include "bench/peers/onednn.hpp"
#include "bench/peers/openblas.hpp"
#include "bench/peers/tessera.hpp"
#include "core/names.hpp"

namespace tessera::bench {
namespace {

struct KnownPeer {
  std::string_view name;
  std::unique_ptr<Peer> (*load)(const std::string& path);
};

constexpr std::array kPeers = {KnownPeer{"openblas", load_openblas}, KnownPeer{"blis", load_blis},
                               KnownPeer{"onednn", load_onednn},
                               KnownPeer{"tessera", load_tessera}};

}  // namespace

std::unique_ptr<Peer> load_peer(const std::string& name_or_path) {
  const std::size_t equals = name_or_path.find('=');
  const auto load =
      value_from_name<&KnownPeer::load>("--peer", kPeers, name_or_path.substr(0, equals));
  return load(equals == std::string::npos ? "" : name_or_path.substr(equals + 1));
}

std::vector<PeerInfo> installed_peers() {
  std::vector<PeerInfo> found;
  for (const KnownPeer& peer : kPeers) {
    try {
      found.push_back(peer.load("")->info());
    } catch (const Error&) {
      continue;
    }
  }
  return found;
}

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const KnownPeer& peer : kPeers) names.emplace_back(peer.name);
  return names;
}

}  // namespace tessera::bench
