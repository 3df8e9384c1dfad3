#include "bench/peers/openblas.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/peers/cblas.hpp"

namespace tessera::bench {
namespace {

// Its threads spin for two to the power of this many ticks of the time stamp counter before they
// sleep, by default 2²⁸, a tenth of a second, for which they keep the next contender from a core.
// So many are 0.4 ms at 2.6 GHz, and leave its own calls in a row as fast: Zen 5, two threads, f32,
// 2026-11, with 20 and 28, at best 16×4096×4096 3.68 and 3.80 ms, 512³ 577 and 576 µs, 128³ 12.7
// and 12.3 µs.
constexpr const char* kTimeout = "OPENBLAS_THREAD_TIMEOUT";
constexpr const char* kTicks = "20";

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
    if (const char* const timeout = std::getenv(kTimeout)) {
      version += fmt::format(" ({}={})", kTimeout, timeout);
    }
    return {library_.label(), library_.path(), version};
  }

  int set_threads(int threads) override {
    library_.require<void(int)>(naming_("openblas_set_num_threads"))(threads);
    return library_.require<int()>(naming_("openblas_get_num_threads"))();
  }

  std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha, double beta,
                                bool /*packs_b*/) override {
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
  // Read once, when the library is loaded; what the caller chose stays.
  setenv(kTimeout, kTicks, 0);
  return std::make_unique<OpenBlas>(path);
}

}  // namespace tessera::bench
