#include "bench/peers/cblas.hpp"

#include "bench/peers/blas_arguments.hpp"

namespace tessera::bench {
namespace {

constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;

template <class Integer, class In, class Out>
using Gemm = void(int order, int trans_a, int trans_b, Integer m, Integer n, Integer k, Out alpha,
                  const In* a, Integer lda, const In* b, Integer ldb, Out beta, Out* c,
                  Integer ldc);

template <class Integer, class In, class Out>
PeerCall make_call(const SharedLibrary& library, const std::string& routine,
                   const std::string& symbol, const std::vector<Operands>& groups, double alpha,
                   double beta) {
  auto* const gemm = library.find<Gemm<Integer, In, Out>>(symbol);
  if (gemm == nullptr) return {routine, {}, "this build has no " + routine};
  std::vector<BlasArguments> products;
  for (const Operands& group : groups) {
    const auto arguments = blas_arguments(group);
    if (!arguments) return {routine, {}, "BLAS needs unit strides, and C by rows"};
    products.push_back(*arguments);
  }
  const auto call = [gemm, products, alpha, beta] {
    for (const BlasArguments& p : products) {
      gemm(kRowMajor, p.transpose_a ? kTrans : kNoTrans, p.transpose_b ? kTrans : kNoTrans,
           static_cast<Integer>(p.m), static_cast<Integer>(p.n), static_cast<Integer>(p.k),
           static_cast<Out>(alpha), static_cast<const In*>(p.a), static_cast<Integer>(p.lda),
           static_cast<const In*>(p.b), static_cast<Integer>(p.ldb), static_cast<Out>(beta),
           static_cast<Out*>(p.c), static_cast<Integer>(p.ldc));
    }
  };
  return {routine, call, ""};
}

template <class Integer>
std::vector<PeerCall> prepare(const SharedLibrary& library, const CblasNaming& naming,
                              const std::vector<Operands>& groups, double alpha, double beta) {
  const GemmTypes types{groups[0].a.type, groups[0].b.type, groups[0].c.type};
  if (types == GemmTypes{ElementType::f32, ElementType::f32, ElementType::f32}) {
    return {make_call<Integer, float, float>(library, "cblas_sgemm", naming("cblas_sgemm"), groups,
                                             alpha, beta)};
  }
  if (types == GemmTypes{ElementType::f64, ElementType::f64, ElementType::f64}) {
    return {make_call<Integer, double, double>(library, "cblas_dgemm", naming("cblas_dgemm"),
                                               groups, alpha, beta)};
  }
  if (types == GemmTypes{ElementType::bf16, ElementType::bf16, ElementType::f32}) {
    return {make_call<Integer, std::uint16_t, float>(library, "cblas_sbgemm",
                                                     naming("cblas_sbgemm"), groups, alpha, beta)};
  }
  return {{"cblas", {}, "cblas has no product of these types"}};
}

}  // namespace

std::vector<PeerCall> prepare_cblas(const SharedLibrary& library, const CblasNaming& naming,
                                    const std::vector<Operands>& groups, double alpha,
                                    double beta) {
  return naming.wide_integers ? prepare<std::int64_t>(library, naming, groups, alpha, beta)
                              : prepare<std::int32_t>(library, naming, groups, alpha, beta);
}

}  // namespace tessera::bench
