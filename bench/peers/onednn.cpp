#include "bench/peers/onednn.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

#include "bench/peers/blas_arguments.hpp"
#include "bench/shared_library.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

// The C interface, as far as it is used here. Versions 2 and 3 differ in how a memory descriptor
// and a matmul are described: in 2 by structs that the caller provides, in 3 by opaque objects.
using Status = int;
constexpr Status kSuccess = 0;
constexpr int kCpu = 1;
constexpr int kInOrder = 1;
constexpr int kSource = 1;
constexpr int kDestination = 17;
constexpr int kWeights = 33;
constexpr int kAnyTag = 1;
constexpr int kWeightsDescriptor = 131;  // dnnl_query_weights_md
const void* const kAllocate = std::bit_cast<const void*>(~std::uintptr_t{0});

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

struct Argument {
  int which;
  void* memory;
};

// Room for version 2's largest descriptor, which is below 4 kB.
struct alignas(64) DescriptorStorage {
  std::array<std::byte, 16384> bytes;
};

int data_type(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return 1;
    case ElementType::bf16:
      return 2;
    case ElementType::f32:
      return 3;
    case ElementType::i32:
      return 4;
    case ElementType::i8:
      return 5;
    case ElementType::u8:
      return 6;
    case ElementType::f64:
      break;
  }
  return 0;
}

class OneDnn final : public Peer {
 public:
  explicit OneDnn(const std::string& path)
      : library_("onednn", path, {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}),
        version_(library_.require<const Version*()>("dnnl_version")()) {
    check(
        library_.require<Status(void**, int, std::size_t)>("dnnl_engine_create")(&engine_, kCpu, 0),
        "dnnl_engine_create");
    check(library_.require<Status(void**, void*, unsigned)>("dnnl_stream_create")(&stream_, engine_,
                                                                                  kInOrder),
          "dnnl_stream_create");
  }

  PeerInfo info() const override {
    return {library_.label(), library_.path(),
            fmt::format("oneDNN {}.{}.{}", version_->major, version_->minor, version_->patch)};
  }

  // oneDNN has no call of its own; its threads are the OpenMP runtime's that it was linked with.
  int set_threads(int threads) override {
    library_.require<void(int)>("omp_set_num_threads")(threads);
    return library_.require<int()>("omp_get_max_threads")();
  }

  std::vector<PeerCall> prepare(const std::vector<Operands>& groups, double alpha, double beta,
                                bool packs_b) override {
    std::vector<PeerCall> calls;
    const GemmTypes types{groups[0].a.type, groups[0].b.type, groups[0].c.type};
    if (types == GemmTypes{ElementType::f32, ElementType::f32, ElementType::f32}) {
      calls.push_back(prepare_sgemm(groups, alpha, beta));
    }
    calls.push_back(prepare_matmul(groups, alpha, beta, packs_b));
    return calls;
  }

 private:
  static void check(Status status, const std::string& function) {
    if (status == kSuccess) return;
    throw Error(ErrorCode::unsupported, "peer 'onednn'", "succeed in " + function,
                fmt::format("status {}", status), "use another build of it");
  }

  PeerCall prepare_sgemm(const std::vector<Operands>& groups, double alpha, double beta) const {
    using Sgemm = Status(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                         std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);
    auto* const sgemm = library_.find<Sgemm>("dnnl_sgemm");
    if (sgemm == nullptr) return {"dnnl_sgemm", {}, "this build has no dnnl_sgemm"};
    std::vector<BlasArguments> products;
    for (const Operands& group : groups) {
      const auto arguments = blas_arguments(group);
      if (!arguments) return {"dnnl_sgemm", {}, "BLAS needs unit strides, and C by rows"};
      products.push_back(*arguments);
    }
    const auto call = [sgemm, products, alpha, beta] {
      for (const BlasArguments& p : products) {
        sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k,
              static_cast<float>(alpha), static_cast<const float*>(p.a), p.lda,
              static_cast<const float*>(p.b), p.ldb, static_cast<float>(beta),
              static_cast<float*>(p.c), p.ldc);
      }
    };
    return {"dnnl_sgemm", call, ""};
  }

  PeerCall prepare_matmul(const std::vector<Operands>& groups, double alpha, double beta,
                          bool packs_b) {
    const std::string routine = packs_b ? "dnnl_matmul, weights reordered" : "dnnl_matmul";
    if (alpha != 1 || beta != 0) return {routine, {}, "only alpha 1 and beta 0 are compared"};
    std::vector<Product> products;
    for (const Operands& group : groups) {
      if (group.c.rows == 0 || group.c.cols == 0) continue;
      Product product;
      if (data_type(group.a.type) == 0 || !make_product(group, packs_b, product)) {
        return {routine, {}, "oneDNN has no matmul of these types on this processor"};
      }
      products.push_back(product);
    }
    auto* const execute = library_.require<Status(const void*, void*, int, const Argument*)>(
        "dnnl_primitive_execute");
    auto* const wait = library_.require<Status(void*)>("dnnl_stream_wait");
    const auto call = [execute, wait, products, stream = stream_] {
      for (const Product& p : products) {
        execute(p.primitive, stream, static_cast<int>(p.arguments.size()), p.arguments.data());
      }
      wait(stream);
    };
    return {routine, call, ""};
  }

  struct Product {
    void* primitive = nullptr;
    std::array<Argument, 3> arguments{};
  };

  // The descriptor of a matrix; `storage` holds it in version 2.
  const void* describe_matrix(const ConstMatrixView& view, DescriptorStorage& storage) {
    // Both versions read arrays of twelve.
    const std::array<std::int64_t, 12> dims = {view.rows, view.cols};
    const std::array<std::int64_t, 12> strides = {view.row_stride, view.col_stride};
    if (version_->major >= 3) {
      void* descriptor = nullptr;
      using Create = Status(void**, int, const std::int64_t*, int, const std::int64_t*);
      check(library_.require<Create>("dnnl_memory_desc_create_with_strides")(
                &descriptor, 2, dims.data(), data_type(view.type), strides.data()),
            "dnnl_memory_desc_create_with_strides");
      return descriptor;
    }
    using Init = Status(void*, int, const std::int64_t*, int, const std::int64_t*);
    check(library_.require<Init>("dnnl_memory_desc_init_by_strides")(
              storage.bytes.data(), 2, dims.data(), data_type(view.type), strides.data()),
          "dnnl_memory_desc_init_by_strides");
    return storage.bytes.data();
  }

  Status describe_matmul(void** description, const void* a, const void* b, const void* c) {
    if (version_->major >= 3) {
      using Create =
          Status(void**, void*, const void*, const void*, const void*, const void*, const void*);
      return library_.require<Create>("dnnl_matmul_primitive_desc_create")(description, engine_, a,
                                                                           b, nullptr, c, nullptr);
    }
    const auto storage = std::make_unique<DescriptorStorage>();
    using Init = Status(void*, const void*, const void*, const void*, const void*);
    const Status status =
        library_.require<Init>("dnnl_matmul_desc_init")(storage->bytes.data(), a, b, nullptr, c);
    if (status != kSuccess) return status;
    using Create = Status(void**, const void*, const void*, void*, const void*);
    return library_.require<Create>("dnnl_primitive_desc_create")(
        description, storage->bytes.data(), nullptr, engine_, nullptr);
  }

  void* wrap_memory(const void* descriptor, const void* data) {
    void* memory = nullptr;
    using Create = Status(void**, const void*, void*, void*);
    check(library_.require<Create>("dnnl_memory_create")(&memory, descriptor, engine_,
                                                         const_cast<void*>(data)),
          "dnnl_memory_create");
    return memory;
  }

  void* create_primitive(const void* description) {
    void* primitive = nullptr;
    check(library_.require<Status(void**, const void*)>("dnnl_primitive_create")(&primitive,
                                                                                 description),
          "dnnl_primitive_create");
    return primitive;
  }

  // In the form that a matmul chooses.
  const void* describe_any(const ConstMatrixView& view, DescriptorStorage& storage) {
    const std::array<std::int64_t, 12> dims = {view.rows, view.cols};
    if (version_->major >= 3) {
      void* descriptor = nullptr;
      using Create = Status(void**, int, const std::int64_t*, int, int);
      check(library_.require<Create>("dnnl_memory_desc_create_with_tag")(
                &descriptor, 2, dims.data(), data_type(view.type), kAnyTag),
            "dnnl_memory_desc_create_with_tag");
      return descriptor;
    }
    using Init = Status(void*, int, const std::int64_t*, int, int);
    check(library_.require<Init>("dnnl_memory_desc_init_by_tag")(
              storage.bytes.data(), 2, dims.data(), data_type(view.type), kAnyTag),
          "dnnl_memory_desc_init_by_tag");
    return storage.bytes.data();
  }

  // B in the form of the matmul's weights.
  void* reordered(const void* given, const void* data, const void* matmul) {
    const void* const wanted = library_.require<const void*(const void*, int, int)>(
        "dnnl_primitive_desc_query_md")(matmul, kWeightsDescriptor, 0);
    void* const from = wrap_memory(given, data);
    void* const to = wrap_memory(wanted, kAllocate);
    void* description = nullptr;
    using Create = Status(void**, const void*, const void*, const void*, const void*, const void*);
    check(library_.require<Create>("dnnl_reorder_primitive_desc_create")(
              &description, given, engine_, wanted, engine_, nullptr),
          "dnnl_reorder_primitive_desc_create");
    void* const reorder = create_primitive(description);
    const std::array<Argument, 2> arguments = {Argument{kSource, from}, Argument{kDestination, to}};
    check(library_.require<Status(const void*, void*, int, const Argument*)>(
              "dnnl_primitive_execute")(reorder, stream_, 2, arguments.data()),
          "dnnl_primitive_execute");
    check(library_.require<Status(void*)>("dnnl_stream_wait")(stream_), "dnnl_stream_wait");
    return to;
  }

  // False where oneDNN has no implementation. Its objects stay until the process ends: they are
  // few, and version 3 shares them among primitives.
  bool make_product(const Operands& o, bool packs_b, Product& product) {
    const auto storage = std::make_unique<std::array<DescriptorStorage, 4>>();
    const void* const a = describe_matrix(o.a, (*storage)[0]);
    const void* const b = describe_matrix(o.b, (*storage)[1]);
    const void* const c = describe_matrix(o.c, (*storage)[2]);
    const void* const weights = packs_b ? describe_any(o.b, (*storage)[3]) : b;
    void* description = nullptr;
    if (describe_matmul(&description, a, weights, c) != kSuccess) return false;
    product.primitive = create_primitive(description);
    product.arguments = {Argument{kSource, wrap_memory(a, o.a.data)},
                         Argument{kWeights, packs_b ? reordered(b, o.b.data, description)
                                                    : wrap_memory(b, o.b.data)},
                         Argument{kDestination, wrap_memory(c, o.c.data)}};
    return true;
  }

  SharedLibrary library_;
  const Version* version_;
  void* engine_ = nullptr;
  void* stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Peer> load_onednn(const std::string& path) {
  return std::make_unique<OneDnn>(path);
}

}  // namespace tessera::bench
