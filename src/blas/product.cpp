#include "blas/product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "tessera/log.hpp"
#include "tessera/tessera.hpp"

namespace tessera::blas {
namespace {

Operands operands_of(const Product& p) {
  const std::int64_t a_row_stride = p.transpose_a ? p.lda : 1;
  const std::int64_t b_row_stride = p.transpose_b ? p.ldb : 1;
  return {{p.a, p.m, p.k, a_row_stride, p.transpose_a ? 1 : p.lda, p.types.a},
          {p.b, p.k, p.n, b_row_stride, p.transpose_b ? 1 : p.ldb, p.types.b},
          {p.c, p.m, p.n, 1, p.ldc, p.types.c}};
}

// What the BLAS standard calls a quick return: C stays as it is.
bool has_no_effect(const Product& p) {
  return p.m == 0 || p.n == 0 || ((p.alpha == 0 || p.k == 0) && p.beta == 1);
}

// Callers in Fortran may pass numbers that lie across their natural boundary.
template <class T>
T load(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double number(float value) {
  return value;
}
double number(double value) {
  return value;
}
double number(bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

// The definition itself: needs no memory, no alignment, and one element of C at a time.
template <class In, class Out>
void multiply_plainly(const Product& p) {
  const auto* a = static_cast<const In*>(p.a);
  const auto* b = static_cast<const In*>(p.b);
  auto* c = static_cast<Out*>(p.c);
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; p.alpha != 0 && l < p.k; ++l) {
        sum += number(load(a + (p.transpose_a ? l + i * p.lda : i + l * p.lda))) *
               number(load(b + (p.transpose_b ? j + l * p.ldb : l + j * p.ldb)));
      }
      Out* to = c + i + j * p.ldc;
      const auto out =
          static_cast<Out>(p.alpha * sum + (p.beta == 0 ? 0 : p.beta * number(load(to))));
      std::memcpy(to, &out, sizeof out);
    }
  }
}

void multiply_plainly(const Product& p) {
  if (p.types.a == ElementType::f64) {
    multiply_plainly<double, double>(p);
  } else if (p.types.a == ElementType::bf16) {
    multiply_plainly<bf16, float>(p);
  } else {
    multiply_plainly<float, float>(p);
  }
}

// Also a wrong TESSERA_THREADS ends here, and would else be seen in the time alone.
void say_refusal(const std::exception& error) noexcept {
  try {
    if (!is_logged(LogTopic::dispatch)) return;
    log_line("BLAS: plain loops, for tessera refused: " + std::string(error.what()));
  } catch (const std::exception&) {
    // Saying it is a favour; the product is not.
  }
}

}  // namespace

int first_wrong_argument(const Product& p) {
  if (p.m < 0) return 3;
  if (p.n < 0) return 4;
  if (p.k < 0) return 5;
  if (p.lda < std::max<std::int64_t>(1, p.transpose_a ? p.k : p.m)) return 8;
  if (p.ldb < std::max<std::int64_t>(1, p.transpose_b ? p.n : p.k)) return 10;
  if (p.ldc < std::max<std::int64_t>(1, p.m)) return 13;
  return 0;
}

void multiply(const Product& p) noexcept {
  if (has_no_effect(p)) return;
  try {
    gemm(p.alpha, operands_of(p), p.beta);
  } catch (const std::exception& error) {
    say_refusal(error);
    multiply_plainly(p);
  }
}

void multiply(std::span<const Product> products) noexcept {
  try {
    std::vector<Operands> groups;
    groups.reserve(products.size());
    for (const Product& p : products) {
      if (!has_no_effect(p)) groups.push_back(operands_of(p));
    }
    if (groups.empty()) return;
    grouped_gemm(products.front().alpha, groups, products.front().beta);
  } catch (const std::exception& error) {
    say_refusal(error);
    for (const Product& p : products) multiply(p);
  }
}

}  // namespace tessera::blas
