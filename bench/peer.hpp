// Other libraries that compute matrix products, to compare with: loaded at run time, so that none
// is needed to build or run anything else.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera::bench {

struct PeerInfo {
  std::string name;     // "openblas", or for a build by path "openblas=libopenblas.so"
  std::string path;     // of the shared library
  std::string version;  // as the library tells it, with the processor it thinks it runs on
};

// What a peer would do for a problem.
struct PeerCall {
  std::string routine;         // "cblas_sgemm"
  std::function<void()> call;  // empty where the peer cannot
  std::string why_not;
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual PeerInfo info() const = 0;
  // Threads of every later call, by the library's own interface. Returns the number in force.
  virtual int set_threads(int threads) = 0;
  // Prepares C ← alpha·A·B + beta·C for all groups (one at least), one after the other, by each
  // routine that the library has for it; whatever may be prepared once
  // for many calls is done here, with `packs_b` also of B, where the library has a form for that.
  // The operands must outlive the calls.
  virtual std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha,
                                        double beta, bool packs_b) = 0;
};

// "openblas", or with its library "openblas=/path/lib.so". Throws Error(unsupported) where the
// library is not there, Error(invalid_argument) for an unknown name.
std::unique_ptr<Peer> load_peer(const std::string& name_or_path);

// Those that load by their usual names.
std::vector<PeerInfo> installed_peers();
std::vector<std::string> peer_names();

}  // namespace tessera::bench
