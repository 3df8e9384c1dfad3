#include "bench/peers/tessera.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "bench/shared_library.hpp"
#include "tessera/error.hpp"
#include "tessera/machine.hpp"
#include "tessera/tessera.h"

namespace tessera::bench {
namespace {

// The function of the other build that has this declaration; the one of the same name that is
// linked into this program is not called.
#define TESSERA_OF(library, function) ((library).require<decltype(function)>(#function))

// The C interface counts element types as ElementType does (src/c_api_convert.cpp asserts it).
template <class CMatrix, class View>
CMatrix c_view(const View& view) {
  return {view.data,       view.rows,       view.cols,
          view.row_stride, view.col_stride, static_cast<tessera_type>(view.type)};
}

class OtherBuild final : public Peer {
 public:
  explicit OtherBuild(const std::string& path)
      : library_("tessera", path, {"libtessera.so.0", "libtessera.so"}) {}

  PeerInfo info() const override {
    return {library_.label(), library_.path(),
            fmt::format("Tessera {}", TESSERA_OF(library_, tessera_version)())};
  }

  int set_threads(int threads) override {
    threads_ = threads;
    return threads;
  }

  std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha, double beta,
                                bool packs_b) override {
    const std::string routine = "tessera_plan_run";
    std::vector<tessera_operands> products;
    std::vector<std::shared_ptr<tessera_packed>> packed;
    for (const Operands& group : groups) {
      auto b = c_view<tessera_const_matrix>(group.b);
      if (packs_b) {
        packed.push_back(pack(b, group.a));
        if (packed.back() == nullptr) return {{routine, {}, "that build cannot pack B"}};
        b = TESSERA_OF(library_, tessera_packed_view)(packed.back().get());
      }
      products.push_back(
          {c_view<tessera_const_matrix>(group.a), b, c_view<tessera_matrix>(group.c), {}});
    }
    const std::shared_ptr<tessera_machine> machine = host_machine();
    tessera_plan* made = nullptr;
    if (TESSERA_OF(library_, tessera_plan_create)(products.data(), products.size(), alpha, beta,
                                                  nullptr, machine.get(), nullptr,
                                                  &made) != TESSERA_OK) {
      return {{routine, {}, TESSERA_OF(library_, tessera_last_error)()}};
    }
    const std::shared_ptr<tessera_plan> plan(made, TESSERA_OF(library_, tessera_plan_destroy));
    tessera_run_options options{};
    options.struct_size = sizeof(options);
    options.threads = threads_;
    auto* const run = TESSERA_OF(library_, tessera_plan_run);
    const auto call = [run, plan, packed, products = std::move(products), options] {
      run(plan.get(), products.data(), products.size(), &options);
    };
    return {{routine, call, ""}};
  }

 private:
  void check(tessera_status status, const std::string& what) const {
    if (status == TESSERA_OK) return;
    throw Error(ErrorCode::unsupported, "peer 'tessera'", "give " + what,
                TESSERA_OF(library_, tessera_last_error)(), "use a build nearer to this one");
  }

  // Null where it cannot, as builds before 0.1.0 was released.
  std::shared_ptr<tessera_packed> pack(const tessera_const_matrix& b,
                                       const ConstMatrixView& a) const {
    auto* const pack_b = library_.find<decltype(tessera_pack_b)>("tessera_pack_b");
    tessera_packed* packed = nullptr;
    const auto type_a = static_cast<tessera_type>(a.type);
    if (pack_b == nullptr || pack_b(b, a.rows, type_a, &packed) != TESSERA_OK) return nullptr;
    return {packed, TESSERA_OF(library_, tessera_packed_destroy)};
  }

  // As the other build sees this machine, with as many workers as threads are asked for.
  std::shared_ptr<tessera_machine> host_machine() const {
    auto* const destroy = TESSERA_OF(library_, tessera_machine_destroy);
    tessera_machine* found = nullptr;
    check(TESSERA_OF(library_, tessera_machine_host)(&found), "this machine's description");
    std::shared_ptr<tessera_machine> machine(found, destroy);

    auto* const describe = TESSERA_OF(library_, tessera_machine_to_json);
    std::size_t size = 0;
    check(describe(machine.get(), nullptr, 0, &size), "its description's size");
    std::string text(size, '\0');
    check(describe(machine.get(), text.data(), text.size(), nullptr), "its description");
    text.resize(size - 1);  // without the final 0

    text = to_json(with_workers(machine_from_json(text), threads_));
    check(TESSERA_OF(library_, tessera_machine_from_json)(text.c_str(), &found),
          "a machine with other workers");
    return {found, destroy};
  }

  SharedLibrary library_;
  int threads_ = 1;
};

#undef TESSERA_OF

}  // namespace

std::unique_ptr<Peer> load_tessera(const std::string& path) {
  return std::make_unique<OtherBuild>(path);
}

}  // namespace tessera::bench
