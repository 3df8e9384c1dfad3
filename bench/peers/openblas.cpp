#include "bench/peers/openblas.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/peers/cblas.hpp"

namespace tessera::bench {
namespace {

class OpenBlas final : public Peer {
 public:
  explicit OpenBlas(const std::string& path)
      : library_("openblas", path, {"libopenblas.so.0", "libopenblas.so"}),
        naming_(naming_of(library_)) {}

  PeerInfo info() const override {
    std::string version = config();
    if (const auto core = library_.find<const char*()>(naming_("openblas_get_corename"))) {
      version += fmt::format(", running as {}", core());
    }
    // Read once, when the library is loaded.
    if (const char* const forced = std::getenv("OPENBLAS_CORETYPE")) {
      version += fmt::format(" (OPENBLAS_CORETYPE={})", forced);
    }
    return {library_.label(), library_.path(), version};
  }

  int set_threads(int threads) override {
    library_.require<void(int)>(naming_("openblas_set_num_threads"))(threads);
    return library_.require<int()>(naming_("openblas_get_num_threads"))();
  }

  std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha,
                                double beta) override {
    return prepare_cblas(library_, naming_, groups, alpha, beta);
  }

 private:
  // Distributions' builds have the plain names; the wheels of SciPy add a prefix, and those with
  // 64-bit integers a suffix.
  static CblasNaming naming_of(const SharedLibrary& library) {
    for (const char* const prefix : {"", "scipy_"}) {
      for (const char* const suffix : {"", "64_"}) {
        CblasNaming naming{prefix, suffix, false};
        if (library.find<void>(naming("cblas_sgemm")) == nullptr) continue;
        const auto config = library.find<const char*()>(naming("openblas_get_config"));
        const std::string text = config != nullptr ? config() : "";
        naming.wide_integers =
            !naming.suffix.empty() || text.find("USE64BITINT") != std::string::npos;
        return naming;
      }
    }
    return {};
  }

  std::string config() const {
    const auto get = library_.find<const char*()>(naming_("openblas_get_config"));
    return get != nullptr ? get() : "unknown version";
  }

  SharedLibrary library_;
  CblasNaming naming_;
};

}  // namespace

std::unique_ptr<Peer> load_openblas(const std::string& path) {
  return std::make_unique<OpenBlas>(path);
}

}  // namespace tessera::bench
