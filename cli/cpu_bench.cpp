#include "cli/cpu_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "cli/interrupt.hpp"
#include "cli/matrix.hpp"
#include "cli/packed_operands.hpp"
#include "cli/plan_text.hpp"
#include "cli/random.hpp"
#include "cli/verify.hpp"
#include "core/tile_config.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

class CaseOperands {
 public:
  CaseOperands(const bench::Case& measured, const GemmTypes& types, const StoredLayouts& layouts) {
    std::uint64_t seed = 0;
    matrices_.reserve(3 * measured.groups.size());
    for (const GemmShape& shape : measured.groups) {
      Matrix& a = matrices_.emplace_back(shape.m, shape.k, types.a, layouts.a);
      Matrix& b = matrices_.emplace_back(shape.k, shape.n, types.b, layouts.given_b());
      Matrix& c = matrices_.emplace_back(shape.m, shape.n, types.c);
      fill_random(a, seed++);
      fill_random(b, seed++);
      operands_.push_back({a.view(), b.view(), c.view()});
    }
  }

  const std::vector<Operands>& operands() const { return operands_; }

  // Fills every C with a pattern that no product has.
  void poison() {
    for (std::size_t i = 2; i < matrices_.size(); i += 3) {
      std::memset(matrices_[i].bytes().data(), 0x5a, matrices_[i].bytes().size());
    }
  }

  // What is wrong with the first wrong product.
  std::string check() const {
    VerifyOptions options;
    options.effort = VerifyEffort::sample;
    for (std::size_t g = 0; g < operands_.size(); ++g) {
      // As many pieces as there can be: other libraries do not tell.
      options.contributors = operands_[g].a.cols;
      const Verification verdict = verify(operands_[g], {}, options);
      if (!verdict.passed) return fmt::format("product {}: {}", g, verdict.failure);
    }
    return "";
  }

  // Each matrix once, those of products without an element of C, experts without rows, not at all.
  double bytes() const {
    double sum = 0;
    for (std::size_t a = 0; a + 2 < matrices_.size(); a += 3) {
      if (matrices_[a + 2].bytes().empty()) continue;
      for (std::size_t i = a; i < a + 3; ++i) {
        sum += static_cast<double>(matrices_[i].bytes().size());
      }
    }
    return sum;
  }

 private:
  std::vector<Matrix> matrices_;  // A, B, C of each product in turn
  std::vector<Operands> operands_;
};

// The operands as one contender has them, with a packed B of its own where it is to be packed.
struct PosedOperands {
  std::vector<Operands> operands;
  std::vector<PackedMatrix> packed;
};

// The same with copies of B. Where contenders have B's of their own because it is packed, peers
// that read it as it is have theirs, too: of a B that several read in turn, the nearer caches would
// still hold some.
struct CopiedB {
  explicit CopiedB(const std::vector<Operands>& from) : operands(from) {
    for (Operands& product : operands) {
      // A B that is to be packed is given by rows.
      Matrix& copy = copies.emplace_back(product.b.rows, product.b.cols, product.b.type);
      if (!copy.bytes().empty()) {
        std::memcpy(copy.bytes().data(), product.b.data, copy.bytes().size());
      }
      product.b = copy.view();
    }
  }

  std::vector<Matrix> copies;
  std::vector<Operands> operands;
};

struct Entry {
  bench::Contender contender;
  std::string detail;
  bool is_peer = false;
  double predicted_seconds = 0;
};

class CaseRunner {
 public:
  CaseRunner(const CpuBenchOptions& options, const GemmTypes& types, int threads, double bandwidth)
      : options_(options), types_(types), threads_(threads), bandwidth_(bandwidth) {}

  CaseResult run(const bench::Case& measured) {
    CaseResult result;
    result.measured = measured;
    result.types = types_;
    result.threads = threads_;
    result.bandwidth = bandwidth_;
    result.crowding = bench::measure_crowding();
    if (threads_ > 1) result.ping_pong = bench::measure_ping_pong();

    CaseOperands operands(measured, types_, options_.layouts);
    std::vector<Entry> entries;
    add_variants(operands, entries, result);
    add_peers(operands, entries, result);
    std::vector<bench::Contender> contenders;
    for (const Entry& entry : entries) {
      contenders.push_back(entry.contender);
      operands.poison();
      entry.contender.call();
      result.results.push_back({entry.contender.name,
                                entry.detail,
                                entry.is_peer,
                                entry.predicted_seconds,
                                {},
                                0,
                                operands.check()});
    }

    const bench::PeakMeasurement before = bench::measure_peak(types_.a, threads_);
    const std::vector<bench::Timing> timings =
        bench::measure(contenders, {.seconds = options_.seconds,
                                    .cold = options_.cold,
                                    .threads = threads_,
                                    .between_rounds = throw_if_interrupted});
    const bench::PeakMeasurement after = bench::measure_peak(types_.a, threads_);
    result.peak = before.flops_per_second > after.flops_per_second ? before : after;
    judge(result, timings, operands.bytes());
    return result;
  }

 private:
  void add_variants(const CaseOperands& operands, std::vector<Entry>& entries,
                    CaseResult& result) const {
    Problem problem = describe(operands.operands(), 1, 0, {});
    if (packs_b_) problem.b = kPackedLayout;
    const Machine machine = with_workers(options_.machine, threads_);
    const RunOptions run_options{.threads = threads_};
    for (const Variant& variant : options_.variants) {
      const Plan plan = make_plan(problem, machine, variant.options);
      const std::string detail =
          fmt::format("{}, {}, {}", plan.kernel, to_text(plan.tile), schedule_text(plan));
      const auto same = std::find_if(entries.begin(), entries.end(),
                                     [&](const Entry& entry) { return entry.detail == detail; });
      if (!variant.one_call && options_.each_plan_once && same != entries.end()) {
        result.same_plans.push_back({variant.name, same->contender.name});
        continue;
      }
      const auto posed = std::make_shared<PosedOperands>();
      posed->operands = operands.operands();
      if (packs_b_) posed->packed = pack_each(plan, posed->operands);
      const auto planned = [plan, posed, run_options] {
        tessera::run(plan, posed->operands, run_options);
      };
      const auto one_call = [posed, run_options] {
        grouped_gemm(1, posed->operands, 0, {}, run_options);
      };
      if (variant.one_call) {
        entries.push_back({{variant.name, one_call}, "planned in each call"});
      } else {
        entries.push_back({{variant.name, planned}, detail, false, plan.cost.seconds});
      }
    }
  }

  void add_peers(const CaseOperands& operands, std::vector<Entry>& entries, CaseResult& result) {
    for (bench::Peer* const peer : options_.peers) {
      const std::string name = peer->info().name;
      const int in_force = peer->set_threads(threads_);
      if (in_force != threads_) {
        result.skipped.push_back(
            fmt::format("{}: runs {} threads instead of {}", name, in_force, threads_));
        continue;
      }
      const auto copied = packs_b_ ? std::make_shared<CopiedB>(operands.operands()) : nullptr;
      const std::vector<Operands>& posed = packs_b_ ? copied->operands : operands.operands();
      for (const bench::PeerCall& call : peer->prepare(posed, 1, 0, packs_b_)) {
        if (call.call) {
          const auto kept = [call = call.call, copied] { call(); };
          entries.push_back({{name, kept}, call.routine, true});
        } else {
          result.skipped.push_back(fmt::format("{}: {}", name, call.why_not));
        }
      }
    }
  }

  void judge(CaseResult& result, const std::vector<bench::Timing>& timings, double bytes) const {
    double flops = 0;
    for (const GemmShape& shape : result.measured.groups) {
      flops += 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
               static_cast<double>(shape.k);
    }
    for (std::size_t i = 0; i < timings.size(); ++i) {
      ContenderResult& one = result.results[i];
      one.timing = timings[i];
      one.flops_per_second = flops / one.timing.median;
      const bool is_better =
          result.best_peer < 0 ||
          one.timing.median <
              result.results[static_cast<std::size_t>(result.best_peer)].timing.median;
      if (one.is_peer && one.wrong.empty() && is_better) result.best_peer = static_cast<int>(i);
    }
    if (result.best_peer >= 0) {
      result.ratio =
          bench::paired_ratio(timings[0], timings[static_cast<std::size_t>(result.best_peer)]);
    }
    const double arithmetic =
        result.peak.flops_per_second > 0 ? flops / result.peak.flops_per_second : 0;
    // Warm operands that fit the last-level cache do not come from memory.
    const bool from_memory =
        options_.cold || bytes > static_cast<double>(options_.machine.cache_bytes);
    const double memory = from_memory ? bytes / bandwidth_ : 0;
    result.bound_seconds = std::max(arithmetic, memory);
    result.bound_by = memory > arithmetic ? "memory" : "arithmetic";
  }

  const CpuBenchOptions& options_;
  const bool packs_b_ = options_.layouts.b == Major::packed;
  const GemmTypes types_;
  const int threads_;
  const double bandwidth_;
};

}  // namespace

std::vector<CaseResult> run_cpu_bench(const CpuBenchOptions& options,
                                      const std::function<void(const CaseResult&)>& done) {
  std::vector<CaseResult> results;
  for (const int threads : options.threads) {
    const double bandwidth =
        options.bandwidth > 0 ? options.bandwidth : bench::measure_read_bandwidth(threads);
    for (const GemmTypes& types : options.types) {
      CaseRunner runner(options, types, threads, bandwidth);
      for (const bench::Case& measured : options.cases) {
        throw_if_interrupted();
        results.push_back(runner.run(measured));
        done(results.back());
      }
    }
  }
  return results;
}

}  // namespace tessera::cli
