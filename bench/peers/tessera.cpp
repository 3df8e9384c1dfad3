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
    for (const Operands& group : groups) {
      products.push_back({c_view<tessera_const_matrix>(group.a),
                          c_view<tessera_const_matrix>(group.b),
                          c_view<tessera_matrix>(group.c),
                          {}});
    }
    const auto last_error = [this] { return TESSERA_OF(library_, tessera_last_error)(); };
    const std::shared_ptr<tessera_machine> machine = host_machine();
    const std::shared_ptr<tessera_options> choices = options_for(packs_b);
    if (packs_b && choices == nullptr) return {{routine, {}, last_error()}};
    tessera_plan* made = nullptr;
    if (TESSERA_OF(library_, tessera_plan_create)(products.data(), products.size(), alpha, beta,
                                                  nullptr, machine.get(), choices.get(),
                                                  &made) != TESSERA_OK) {
      return {{routine, {}, last_error()}};
    }
    const std::shared_ptr<tessera_plan> plan(made, TESSERA_OF(library_, tessera_plan_destroy));
    std::vector<std::shared_ptr<tessera_packed>> packed;
    for (tessera_operands& product : products) {
      if (!packs_b) break;
      tessera_packed* one = nullptr;
      if (TESSERA_OF(library_, tessera_plan_pack_b)(plan.get(), product.b, &one) != TESSERA_OK) {
        return {{routine, {}, last_error()}};
      }
      packed.emplace_back(one, TESSERA_OF(library_, tessera_packed_destroy));
      product.b = TESSERA_OF(library_, tessera_packed_view)(one);
    }
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

  // Null where there is nothing to say; or where B is to be packed, and that build says why it
  // cannot.
  std::shared_ptr<tessera_options> options_for(bool packs_b) const {
    tessera_options* options = nullptr;
    if (!packs_b || TESSERA_OF(library_, tessera_options_create)(&options) != TESSERA_OK) return {};
    const std::shared_ptr<tessera_options> owned(options,
                                                 TESSERA_OF(library_, tessera_options_destroy));
    const auto set = TESSERA_OF(library_, tessera_options_set);
    return set(options, "packed_b", "true") == TESSERA_OK ? owned : nullptr;
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
