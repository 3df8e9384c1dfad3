#include "plan_cache.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/environment.hpp"
#include "tessera/error.hpp"
#include "tessera/packed.hpp"

namespace tessera {
namespace {

constexpr int kDefaultCapacity = 1024;
constexpr int kMostCapacity = std::numeric_limits<int>::max();
// A layer of a network or a factorisation cycles through a handful of shapes.
constexpr std::size_t kRecentPlans = 16;
constexpr int kLockAttempts = 100;

Machine machine_of(int device) {
  return device == kHost ? host_machine() : device_machine(device);
}

PlanCache& shared_cache() {
  // Never destroyed: calls may come from other objects' destructors at exit.
  static auto* const cache = new PlanCache(static_cast<std::size_t>(
      environment_number("TESSERA_PLAN_CACHE", 0, kMostCapacity).value_or(kDefaultCapacity)));
  return *cache;
}

std::shared_ptr<const Plan> with_scalars(const Plan& plan, const ProblemKey& key) {
  auto copy = std::make_shared<Plan>(plan);
  copy->problem.alpha = key.alpha;
  copy->problem.beta = key.beta;
  return copy;
}

// Of several GPUs only the hash knows which one a plan is for; they differ rarely, and it has 64
// bits.
bool is_for(const Plan& plan, const ProblemKey& key) {
  const bool fits = key.packed_b == nullptr || (plan.kernel == key.packed_b->kernel() &&
                                                plan.tile.block_k == key.packed_b->block_k());
  return (plan.machine.kind == MachineKind::gpu) == (key.device != kHost) && fits &&
         (key.threads == 0 || plan.machine.workers == key.threads) && key.same_path(plan.problem);
}

struct Recent {
  std::uint64_t hash = 0;
  std::shared_ptr<const Plan> plan;
};

}  // namespace

// Asking what a machine is takes far longer than planning for it. Neither list nor its machines
// ever go.
const Machine& machine_of_calls(int device) {
  static const Machine host = machine_of(kHost);
  if (device == kHost) return host;
  static auto* const devices = new std::map<int, Machine>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto found = devices->find(device);
  return found != devices->end() ? found->second
                                 : devices->emplace(device, machine_of(device)).first->second;
}

int threads_to_plan_for(int threads) {
  return threads > 0 && threads < machine_of_calls(kHost).workers ? threads : 0;
}

ProblemKey ProblemKey::of(const Problem& p) {
  return {kHost, 0, p.types, p.groups, p.a, p.b, p.c, p.alpha, p.beta, p.epilogue};
}

Problem ProblemKey::problem() const {
  return {types, {groups.begin(), groups.end()}, a, b, c, alpha, beta, epilogue};
}

PlanOptions ProblemKey::options() const {
  return packed_b != nullptr ? options_for(*packed_b) : PlanOptions{};
}

std::uint64_t ProblemKey::hash() const {
  // Odd numbers with random bits. Products are independent of one another, so they overlap in time.
  constexpr std::uint64_t kMix[] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
                                    0xD6E8FEB86659FD93u, 0xA0761D6478BD642Fu};
  const auto whole = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const auto layout = [](const OperandLayout& l) {
    return static_cast<std::uint64_t>(l.major) << 8 | static_cast<std::uint64_t>(l.alignment);
  };
  const std::uint64_t kinds =
      static_cast<std::uint64_t>(types.a) | static_cast<std::uint64_t>(types.b) << 4 |
      static_cast<std::uint64_t>(types.c) << 8 | static_cast<std::uint64_t>(epilogue.bias) << 12 |
      static_cast<std::uint64_t>(epilogue.activation) << 16 | whole(alpha == 0) << 20 |
      whole(beta == 0) << 21 | whole(device + 1) << 32 | whole(threads) << 48;
  std::uint64_t state = kinds * kMix[0] + (layout(a) | layout(b) << 16 | layout(c) << 32) * kMix[1];
  for (const GemmShape& shape : groups) {
    state = (state ^ state >> 29) * kMix[0] + whole(shape.m) * kMix[2] + whole(shape.n) * kMix[3] +
            whole(shape.k) * kMix[4];
  }
  if (packed_b != nullptr) {
    state = (state ^ std::hash<std::string>()(packed_b->kernel())) * kMix[0] +
            whole(packed_b->block_k()) * kMix[2];
  }
  state ^= state >> 32;
  return state * kMix[0] ^ state >> 29;
}

bool ProblemKey::same_path(const Problem& other) const {
  return types == other.types && a == other.a && b == other.b && c == other.c &&
         epilogue == other.epilogue && (alpha == 0) == (other.alpha == 0) &&
         (beta == 0) == (other.beta == 0) && std::ranges::equal(groups, other.groups);
}

bool ProblemKey::same_scalars(const Problem& other) const {
  // By their bits: a NaN equals itself, and −0 is not 0.
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  return bits(alpha) == bits(other.alpha) && bits(beta) == bits(other.beta);
}

std::unique_lock<std::mutex> PlanCache::try_to_lock() {
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int attempt = 0; attempt < kLockAttempts && !lock.try_lock(); ++attempt) {
  }
  return lock;
}

std::shared_ptr<const Plan> PlanCache::find(std::uint64_t hash, const ProblemKey& key) {
  const std::unique_lock lock = try_to_lock();
  if (!lock) return nullptr;
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return nullptr;
  if (!is_for(*found->second->plan, key)) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->plan;
}

void PlanCache::insert(std::uint64_t hash, std::shared_ptr<const Plan> plan) {
  if (capacity_ == 0) return;
  const std::unique_lock lock = try_to_lock();
  if (!lock) return;
  if (const auto found = by_hash_.find(hash); found != by_hash_.end()) {
    found->second->plan = std::move(plan);
    return;
  }
  while (entries_.size() >= capacity_) {
    by_hash_.erase(entries_.back().hash);
    entries_.pop_back();
  }
  entries_.push_front({hash, std::move(plan)});
  by_hash_.emplace(hash, entries_.begin());
}

std::size_t PlanCache::size() {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

FoundPlan find_or_make_plan(const ProblemKey& key, PlanKeeping keeping) {
  thread_local std::array<Recent, kRecentPlans> recent_plans;
  const std::uint64_t hash = key.hash();
  Recent& recent = recent_plans[hash % kRecentPlans];
  if (recent.plan && recent.hash == hash && shared_cache().capacity() > 0 &&
      is_for(*recent.plan, key)) {
    if (!key.same_scalars(recent.plan->problem)) {
      recent.plan = with_scalars(*recent.plan, key);
    }
    return {recent.plan, PlanOrigin::recent};
  }
  std::shared_ptr<const Plan> plan = shared_cache().find(hash, key);
  const PlanOrigin origin = plan ? PlanOrigin::shared : PlanOrigin::made;
  if (!plan) {
    const Machine& machine = machine_of_calls(key.device);
    plan = std::make_shared<const Plan>(
        make_plan(key.problem(), key.threads > 0 ? with_workers(machine, key.threads) : machine,
                  key.options()));
    if (keeping == PlanKeeping::all_threads) shared_cache().insert(hash, plan);
  } else if (!key.same_scalars(plan->problem)) {
    plan = with_scalars(*plan, key);
  }
  recent = {hash, std::move(plan)};
  return {recent.plan, origin};
}

}  // namespace tessera
