// The operands of a case in device memory: A and B of each product one after another in random
// numbers, C wherever the caller wants it.
#pragma once

#include <vector>

#include "bench/cases.hpp"
#include "bench/cuda/arena.hpp"
#include "tessera/problem.hpp"

namespace tessera::bench {

struct CudaLayouts {
  bool a_column_major = false;
  bool b_column_major = false;
};

class CaseMemory {
 public:
  // Every call gives the same A and B for the same case.
  std::vector<Operands> operands(const Case& what, const GemmTypes& types,
                                 const CudaLayouts& layouts, OperandArena& output,
                                 cudaStream_t stream);

  // One random value per column of C, in C's type, the same for all products.
  void add_bias(std::vector<Operands>& groups, cudaStream_t stream);

 private:
  OperandArena a_, b_, bias_;
};

}  // namespace tessera::bench
