// Plans of problems that were posed before, so that a repeated call of tessera::gemm plans once.
//
// Two steps: a few plans that the calling thread used last, found without any lock, and behind them
// a bounded cache that all threads share. Plans never change once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "tessera/plan.hpp"
#include "tessera/problem.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

// A Problem without owning its groups, and where it is to be solved.
struct ProblemKey {
  int device = kHost;
  int threads = 0;  // on the host: workers to plan for; 0 takes the machine's
  GemmTypes types;
  std::span<const GemmShape> groups;
  OperandLayout a, b, c;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
  // Where b says packed: what a plan has to have of it.
  const PackedMatrix* packed_b = nullptr;

  // On the host.
  static ProblemKey of(const Problem& problem);
  Problem problem() const;
  PlanOptions options() const;

  // Problems that differ in nothing but alpha and beta, neither becoming or ceasing to be 0, have
  // the same hash and the same plan but for these two numbers.
  std::uint64_t hash() const;
  bool same_path(const Problem& other) const;
  bool same_scalars(const Problem& other) const;
};

// The least recently used plan leaves when the cache is full.
class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity) {}

  // A plan for the key but perhaps for alpha and beta; null where there is none.
  std::shared_ptr<const Plan> find(std::uint64_t hash, const ProblemKey& key);
  void insert(std::uint64_t hash, std::shared_ptr<const Plan> plan);

  std::size_t size();
  std::size_t capacity() const { return capacity_; }

 private:
  struct Entry {
    std::uint64_t hash;
    std::shared_ptr<const Plan> plan;
  };

  // Never waits long: whoever does not get the lock does without the cache. A lock that another
  // thread held while the process forked stays locked in the child for ever.
  std::unique_lock<std::mutex> try_to_lock();

  std::size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_hash_;
};

// The machine that calls on a device plan for: asked once, kept for ever.
const Machine& machine_of_calls(int device);

// ProblemKey::threads of a call on so many: 0 where the machine has no more workers than that.
int threads_to_plan_for(int threads);

// How a call came by its plan.
enum class PlanOrigin { made, shared, recent };

// Stays valid until this thread looks up another plan; copy the pointer to keep it longer.
struct FoundPlan {
  const std::shared_ptr<const Plan>& plan;
  PlanOrigin origin;
};

// Who keeps a plan that had to be made. A problem that hardly comes again, because its sizes are
// data, would drive others out of the cache that all threads share; this thread's few plans serve
// the calls that follow with the same sizes.
enum class PlanKeeping { all_threads, this_thread };

// The planner's choice for the key's device. Throws what make_plan throws, and Error(unsupported)
// where there is no such device.
FoundPlan find_or_make_plan(const ProblemKey& key, PlanKeeping keeping = PlanKeeping::all_threads);

}  // namespace tessera
