// One case by several plans of ours and by cuBLASLt, alternating, with every result compared: what
// `tessera sweep --device cuda` measures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/cases.hpp"
#include "bench/cuda/stopwatch.hpp"
#include "bench/limits.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"

namespace tessera::bench {

struct CudaContestOptions {
  GemmTypes types = {ElementType::bf16, ElementType::bf16, ElementType::f32};
  int repeats = 9;
  bool cold = true;
  bool peer = false;
  std::string peer_library;  // its path; empty: the usual names
};

struct CudaContender {
  std::string name;
  std::string detail;  // the plan, or which of the peer's choices it is
  bool is_peer = false;
  double predicted_seconds = 0;
  Sample measured;
  std::string wrong;  // what is wrong with its result; empty if nothing
};

struct CudaContestant {
  std::string name;
  Plan plan;
  std::string detail;
};

class CudaContest {
 public:
  // Opens the current device and measures its limits. Throws Error(unsupported) where there is
  // none, or no peer.
  explicit CudaContest(const CudaContestOptions& options);
  ~CudaContest();

  const Machine& machine() const;
  const ProcessorLimits& limits() const;

  // What the plans are made for.
  Problem problem(const Case& what) const;
  // Ours in the given order, then for a single product cuBLASLt's first choice. Results are
  // compared with that one's, or with the general kernel's where there is none.
  std::vector<CudaContender> measure(const Case& what, const std::vector<CudaContestant>& ours);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::bench
