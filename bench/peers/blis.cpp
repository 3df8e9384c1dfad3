#include "bench/peers/blis.hpp"

#include <fmt/format.h>

#include "bench/peers/cblas.hpp"

namespace tessera::bench {
namespace {

class Blis final : public Peer {
 public:
  explicit Blis(const std::string& path)
      : library_("blis", path, {"libblis.so.4", "libblis-mt.so.4", "libblis-mt.so", "libblis.so"}) {
    library_.require<void()>("cblas_sgemm");
    const auto integer_bits = library_.find<std::int64_t()>("bli_info_get_blas_int_type_size");
    naming_.wide_integers = integer_bits != nullptr && integer_bits() == 64;
  }

  PeerInfo info() const override {
    const auto version = library_.find<const char*()>("bli_info_get_version_str");
    const auto architecture = library_.find<int()>("bli_arch_query_id");
    const auto name = library_.find<const char*(int)>("bli_arch_string");
    std::string text =
        fmt::format("BLIS {}", version != nullptr ? version() : "of unknown version");
    if (architecture != nullptr && name != nullptr) {
      text += fmt::format(", running as {}", name(architecture()));
    }
    return {library_.label(), library_.path(), text};
  }

  int set_threads(int threads) override {
    library_.require<void(std::int64_t)>("bli_thread_set_num_threads")(threads);
    const auto get = library_.find<std::int64_t()>("bli_thread_get_num_threads");
    return get != nullptr ? static_cast<int>(get()) : threads;
  }

  std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha, double beta,
                                bool /*packs_b*/) override {
    return prepare_cblas(library_, naming_, groups, alpha, beta);
  }

 private:
  SharedLibrary library_;
  CblasNaming naming_;
};

}  // namespace

std::unique_ptr<Peer> load_blis(const std::string& path) {
  return std::make_unique<Blis>(path);
}

}  // namespace tessera::bench
