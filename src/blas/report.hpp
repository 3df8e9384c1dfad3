// Wrong arguments are reported as everywhere in BLAS: by calling xerbla_ or cblas_xerbla, which the
// program may have replaced with its own. They are looked up when needed, so that its own is found
// however this library came to be loaded.
#pragma once

namespace tessera::blas {

// `routine` as Fortran pads it ("SGEMM "); `argument` counts from 1.
void report_to_xerbla(const char* routine, int argument);

// Where the reference CBLAS is in the process, its convention holds: with row-major storage
// `argument` counts the arguments of the column-major call it became, plus one, and the variable
// RowMajorStrg says so to cblas_xerbla, which exchanges them back. Elsewhere this does so.
void report_to_cblas_xerbla(const char* routine, int argument, bool row_major, const char* form,
                            int value);

}  // namespace tessera::blas
