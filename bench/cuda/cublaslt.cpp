#include "bench/cuda/cublaslt.hpp"

#include <cublasLt.h>

#include <array>
#include <cstdint>

#include "bench/cuda/device.hpp"
#include "bench/shared_library.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

cudaDataType_t data_type(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return CUDA_R_64F;
    case ElementType::f32:
      return CUDA_R_32F;
    case ElementType::f16:
      return CUDA_R_16F;
    case ElementType::bf16:
      return CUDA_R_16BF;
    case ElementType::i8:
      return CUDA_R_8I;
    case ElementType::u8:
      return CUDA_R_8U;
    case ElementType::i32:
      return CUDA_R_32I;
  }
  return CUDA_R_32F;
}

void check(cublasStatus_t status, const char* attempted) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorCode::device, std::string("cuBLASLt: ") + attempted + " failed with status " +
                                     std::to_string(static_cast<int>(status)));
}

}  // namespace

struct CublasLt::Library {
  explicit Library(const std::string& path)
      : file("cublaslt", path,
             {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13",
              "/usr/local/cuda/lib64/libcublasLt.so.12"}),
        workspace(kWorkspaceBytes) {
    check(create(&handle), "cublasLtCreate");
  }
  ~Library() { file.require<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  SharedLibrary file;
  DeviceMemory workspace;
  cublasLtHandle_t handle = nullptr;

  decltype(cublasLtCreate)* create = file.require<decltype(cublasLtCreate)>("cublasLtCreate");
  decltype(cublasLtMatmul)* matmul = file.require<decltype(cublasLtMatmul)>("cublasLtMatmul");
  decltype(cublasLtMatmulDescCreate)* create_description =
      file.require<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
  decltype(cublasLtMatmulDescDestroy)* destroy_description =
      file.require<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy");
  decltype(cublasLtMatmulDescSetAttribute)* describe =
      file.require<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
  decltype(cublasLtMatrixLayoutCreate)* create_layout =
      file.require<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout =
      file.require<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy");
  decltype(cublasLtMatmulPreferenceCreate)* create_preference =
      file.require<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate");
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference =
      file.require<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy");
  decltype(cublasLtMatmulPreferenceSetAttribute)* prefer =
      file.require<decltype(cublasLtMatmulPreferenceSetAttribute)>(
          "cublasLtMatmulPreferenceSetAttribute");
  decltype(cublasLtMatmulAlgoGetHeuristic)* ask =
      file.require<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
  decltype(cublasLtGetVersion)* version =
      file.require<decltype(cublasLtGetVersion)>("cublasLtGetVersion");
};

namespace {

// cuBLASLt's matrices are column-major; C's transpose, B's transpose times A's, is what a row-major
// C is to it.
template <class Library>
class ColumnMajorProduct : public CublasLt::Product {
 public:
  ColumnMajorProduct(const Library& library, const Operands& operands, int choices, double beta,
                     const Epilogue& epilogue)
      : library_(library), operands_(operands), beta_(accumulator(), beta) {
    const cublasComputeType_t compute = accumulator() == ElementType::f64   ? CUBLAS_COMPUTE_64F
                                        : accumulator() == ElementType::i32 ? CUBLAS_COMPUTE_32I
                                                                            : CUBLAS_COMPUTE_32F;
    check(library.create_description(&description_, compute, data_type(accumulator())),
          "describing the product");
    const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool yes) {
      const cublasOperation_t operation = yes ? CUBLAS_OP_T : CUBLAS_OP_N;
      check(library.describe(description_, which, &operation, sizeof operation),
            "describing a transposition");
    };
    transpose(CUBLASLT_MATMUL_DESC_TRANSA, operands.b.col_stride != 1);
    transpose(CUBLASLT_MATMUL_DESC_TRANSB, operands.a.col_stride != 1);
    describe(epilogue);
    first_ = layout(operands.b);
    second_ = layout(operands.a);
    output_ = layout(operands.c);
    choose(choices);
  }

  ~ColumnMajorProduct() override {
    library_.destroy_layout(first_);
    library_.destroy_layout(second_);
    library_.destroy_layout(output_);
    library_.destroy_description(description_);
  }
  ColumnMajorProduct(const ColumnMajorProduct&) = delete;
  ColumnMajorProduct& operator=(const ColumnMajorProduct&) = delete;

  int choices() const override { return static_cast<int>(found_.size()); }

  void run(int choice, cudaStream_t stream) const override {
    const cublasLtMatmulHeuristicResult_t& chosen = found_[static_cast<std::size_t>(choice)];
    check(library_.matmul(library_.handle, description_, &one_, operands_.b.data, first_,
                          operands_.a.data, second_, &beta_, operands_.c.data, output_,
                          operands_.c.data, output_, &chosen.algo, library_.workspace.data(),
                          library_.workspace.size(), stream),
          "cublasLtMatmul");
  }

 private:
  // One of alpha and beta, in whichever type the product computes.
  struct Scalar {
    explicit Scalar(ElementType type, double value) {
      if (type == ElementType::f64) {
        bits.f64 = value;
      } else if (type == ElementType::i32) {
        bits.i32 = static_cast<std::int32_t>(value);
      } else {
        bits.f32 = static_cast<float>(value);
      }
    }
    union {
      double f64;
      float f32;
      std::int32_t i32;
    } bits;
  };

  ElementType accumulator() const {
    return accumulator_of({operands_.a.type, operands_.b.type, operands_.c.type});
  }

  void describe(const Epilogue& epilogue) {
    if (epilogue == Epilogue{}) return;
    const bool has_bias = epilogue.bias != BiasAxis::none;
    const bool is_gelu = epilogue.activation == Activation::gelu_tanh;
    const bool is_relu = epilogue.activation == Activation::relu;
    const cublasLtEpilogue_t kind =
        is_gelu   ? has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU
        : is_relu ? has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU
                  : CUBLASLT_EPILOGUE_BIAS;
    const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
      check(library_.describe(description_, which, &value, sizeof value),
            "describing the epilogue");
    };
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, kind);
    if (!has_bias) return;
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands_.bias.data);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(operands_.bias.type));
  }

  // A row-major matrix is its transpose's column-major one.
  cublasLtMatrixLayout_t layout(const ConstMatrixView& view) const {
    const bool row_major = view.col_stride == 1;
    const std::int64_t rows = row_major ? view.cols : view.rows;
    const std::int64_t cols = row_major ? view.rows : view.cols;
    const std::int64_t leading = row_major ? view.row_stride : view.col_stride;
    cublasLtMatrixLayout_t made = nullptr;
    check(library_.create_layout(&made, data_type(view.type), static_cast<std::uint64_t>(rows),
                                 static_cast<std::uint64_t>(cols), leading),
          "describing a matrix");
    return made;
  }

  void choose(int choices) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(library_.create_preference(&preference), "creating a preference");
    check(library_.prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                          sizeof kWorkspaceBytes),
          "setting the workspace's size");
    found_.resize(static_cast<std::size_t>(choices));
    int count = 0;
    const cublasStatus_t status =
        library_.ask(library_.handle, description_, first_, second_, output_, output_, preference,
                     choices, found_.data(), &count);
    library_.destroy_preference(preference);
    if (status != CUBLAS_STATUS_SUCCESS) count = 0;
    found_.resize(static_cast<std::size_t>(count));
    std::erase_if(found_, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  }

  const Library& library_;
  Operands operands_;
  Scalar one_{accumulator(), 1};
  Scalar beta_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr;
  cublasLtMatrixLayout_t second_ = nullptr;
  cublasLtMatrixLayout_t output_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

}  // namespace

CublasLt::CublasLt(const std::string& path) : library_(std::make_unique<Library>(path)) {}
CublasLt::~CublasLt() = default;

std::string CublasLt::path() const {
  return library_->file.path();
}

std::string CublasLt::version() const {
  const std::size_t number = library_->version();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

std::unique_ptr<CublasLt::Product> CublasLt::prepare(const Operands& operands, int choices,
                                                     double beta, const Epilogue& epilogue) const {
  return std::make_unique<ColumnMajorProduct<Library>>(*library_, operands, choices, beta,
                                                       epilogue);
}

}  // namespace tessera::bench
