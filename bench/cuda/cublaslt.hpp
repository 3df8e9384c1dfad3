// cuBLASLt as a contestant: loaded at run time, with every algorithm that its heuristic offers for
// a product. Built only where its header is found; needs no library to link.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera::bench {

class CublasLt {
 public:
  // `path` names the library, or is empty for the usual names. Throws Error(unsupported) where it
  // cannot be loaded.
  explicit CublasLt(const std::string& path);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string path() const;
  std::string version() const;

  // A product prepared for C ← activation(A·B + beta·C + bias), with the heuristic's choices, its
  // favourite first. Of activations it has ReLU and GELU by tanh.
  class Product;
  std::unique_ptr<Product> prepare(const Operands& operands, int choices, double beta = 0,
                                   const Epilogue& epilogue = {}) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

class CublasLt::Product {
 public:
  virtual ~Product() = default;
  // 0 where cuBLASLt has nothing for these operands.
  virtual int choices() const = 0;
  virtual void run(int choice, cudaStream_t stream) const = 0;
};

}  // namespace tessera::bench
