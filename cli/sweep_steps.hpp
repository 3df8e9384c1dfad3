// The pieces of a sweep that need no measuring: which contenders, what the file says of them, and
// what is said of a wrong result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cpu_bench.hpp"
#include "report/sweep_records.hpp"

namespace tessera::cli {

// A CPU gets a sixteenth of the rows that a GPU's group has.
inline constexpr int kCpuRowDivisor = 16;

// The planner's choice, then every schedule ("stream_k", "split_k(3)") with every number of
// workers; a hybrid with a stream region with `two_tile` "on", "off" or "both". All with `kernel`,
// unless it is empty.
std::vector<Variant> sweep_variants(const std::vector<std::string>& schedules,
                                    const std::vector<int>& grids, const std::string& two_tile,
                                    const std::string& kernel);

report::SweepSettings settings_for(const std::string& corpus, int count, std::uint64_t seed,
                                   const CpuBenchOptions& options);

// "shapes.csv (a1b2c3d4e5f60718)": changes when the contents do.
std::string named_by_contents(const std::string& name, std::string_view contents);

// A wrong result of a peer is left out.
report::SweepRecord record_from(const CaseResult& result, int index);

// What to tell of our first wrong result: the shape, the seed, and the command that shows it again.
std::optional<std::string> wrong_result(const CaseResult& result, const CpuBenchOptions& options,
                                        int index, std::uint64_t seed);

}  // namespace tessera::cli
