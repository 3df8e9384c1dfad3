// Benchmark results as a table for people and as JSON for the record.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/cpu_bench.hpp"

namespace tessera::cli {

std::string bench_table_header();
// One line for Tessera and the best peer.
std::string bench_table_line(const CaseResult& result);
// Geometric means of ratio and share by type, threads and kind of shape.
std::string bench_table_summary(const std::vector<CaseResult>& results);

// Everything that was measured, with the machine, date, commit, settings, peers and environment.
nlohmann::ordered_json bench_json(const CpuBenchOptions& options,
                                  const std::vector<CaseResult>& results);

}  // namespace tessera::cli
