// TESSERA_HD marks a function that nvcc compiles for the host and for the device. Plain C++
// compilers see an ordinary function.
#pragma once

#ifdef __CUDACC__
#define TESSERA_HD __host__ __device__
#else
#define TESSERA_HD
#endif
