// Layers of experts on the GPU, sizes in device memory, through the ragged-rows door, beside one
// kernel per expert in a CUDA graph. Cold cache, alternating.
#pragma once

#include <memory>
#include <string>

#include "bench/moe.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera::bench {

struct CudaMoeOptions {
  GemmTypes types = {ElementType::bf16, ElementType::bf16, ElementType::bf16};
  int repeats = 15;
  bool cold = true;
  bool peer = false;         // cuBLASLt, for the peak and for tiny products
  std::string peer_library;  // its path; empty: the usual names
  PlanOptions plan;          // what to force on the planner
};

class CudaMoe {
 public:
  // Opens the current device and measures its limits. Throws Error(unsupported) where there is
  // none, or no peer.
  explicit CudaMoe(const CudaMoeOptions& options);
  ~CudaMoe();

  const Machine& machine() const;
  const ProcessorLimits& limits() const;
  std::string peer_name() const;  // empty without one

  MoeResult measure(const Case& what);
  // Eight groups, and the same with 128 empty ones among them.
  MoeExtra measure_empty_groups();
  // 43 products of two tiny sizes as a pointer array, beside one call of cuBLASLt (with a peer) or
  // one kernel of ours for each in a CUDA graph.
  MoeExtra measure_tiny_products();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::bench
