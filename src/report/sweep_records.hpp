// The file of a sweep: one JSON object per line. The first line says how it was made; each further
// line is one product, measured with every schedule and peer that was asked for. Lines are only
// ever appended, so a file is valid whenever it is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera::report {

// What must be equal for two sweeps to go into one file.
struct SweepSettings {
  std::string corpus;  // "log256", or a file's name and a hash of what it holds
  int count = 0;       // products in all
  std::uint64_t seed = 0;
  std::string types;  // "bf16,bf16,f32": A, B, C
  int threads = 1;
  double seconds = 0;  // of timed work for each contender
  bool cold = false;
  std::string kernel;                   // that all of ours run; empty: as the planner chooses
  std::vector<std::string> contenders;  // Tessera's own, the planner's choice first, then peers
  std::string machine;                  // name and architecture
  std::string commit;                   // of Tessera
  std::string date;                     // when the first product was measured; may differ

  friend bool operator==(const SweepSettings&, const SweepSettings&) = default;
};

struct SweepResult {
  std::string name;              // "tessera", "tessera stream_k", "openblas"
  std::string detail;            // the plan, or the peer's routine
  double seconds = 0;            // median
  double predicted_seconds = 0;  // 0 for a peer
  bool is_peer = false;
};

struct SweepRecord {
  int index = 0;  // in the corpus
  std::string name;
  std::string kind;
  std::vector<GemmShape> groups;
  double flops = 0;
  double intensity = 0;  // FLOP per byte, every operand touched once
  double bound_seconds = 0;
  std::string bound_by;
  // The planner's choice first. Contenders that would have run the same plan are left out.
  std::vector<SweepResult> results;

  const SweepResult& chosen() const { return results.front(); }
  // The fastest peer; without peers our own data-parallel schedule; nothing where that was the
  // plan.
  const SweepResult* baseline() const;
  // How many times as fast as the baseline; 1 without one.
  double speed_up() const;
  // Time of the planner's choice over the fastest of our own: at least 1.
  double regret() const;
  // Our own data-parallel schedule's time over that of our contender of this name; 0 where one of
  // the two was not measured.
  double over_data_parallel(std::string_view contender) const;
};

std::string to_json_line(const SweepSettings& settings);
std::string to_json_line(const SweepRecord& record);

struct Sweep {
  SweepSettings settings;
  std::vector<SweepRecord> records;
  // Bytes up to the end of the last whole line: what follows was cut off while it was written.
  std::size_t whole_bytes = 0;
};

// Throws Error(io) that names the line.
Sweep parse_sweep(std::string_view text, const std::string& source);

// What differs first, as "seed: 1 in the file, 2 now"; nothing where they are equal.
std::optional<std::string> difference(const SweepSettings& file, const SweepSettings& now);

double geometric_mean(const std::vector<double>& ratios);
double median_of(std::vector<double> values);

// `sweep` as one HTML page.
std::string sweep_page(const Sweep& sweep, const std::string& command);
// The same in a few lines.
std::string sweep_summary(const Sweep& sweep);

}  // namespace tessera::report
