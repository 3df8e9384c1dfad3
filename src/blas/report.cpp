#include "blas/report.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace tessera::blas {
namespace {

template <class Symbol>
Symbol find(const char* name) {
  return reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
}

// Of a column-major gemm's arguments to those of the row-major call it stands for.
int exchanged(int argument) {
  switch (argument) {
    case 4:
      return 5;
    case 5:
      return 4;
    case 9:
      return 11;
    case 11:
      return 9;
    default:
      return argument;
  }
}

}  // namespace

void report_to_xerbla(const char* routine, int argument) {
  using Xerbla = void (*)(const char*, const int*, std::size_t);
  if (const auto xerbla = find<Xerbla>("xerbla_")) {
    xerbla(routine, &argument, std::strlen(routine));
    return;
  }
  std::fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", routine,
               argument);
}

void report_to_cblas_xerbla(const char* routine, int argument, bool row_major, const char* form,
                            int value) {
  using CblasXerbla = void (*)(int, const char*, const char*, ...);
  int* const row_major_storage = find<int*>("RowMajorStrg");
  const int reported = row_major && row_major_storage == nullptr ? exchanged(argument) : argument;
  if (const auto cblas_xerbla = find<CblasXerbla>("cblas_xerbla")) {
    const int before = row_major_storage == nullptr ? 0 : *row_major_storage;
    if (row_major_storage != nullptr) *row_major_storage = row_major ? 1 : 0;
    cblas_xerbla(reported, routine, form, value);
    if (row_major_storage != nullptr) *row_major_storage = before;
    return;
  }
  std::fprintf(stderr, "Parameter %d to routine %s was incorrect\n",
               row_major ? exchanged(argument) : argument, routine);
}

}  // namespace tessera::blas
