// What is measured: products from lists of shapes (CSV), of which some come with the command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/problem.hpp"

namespace tessera::bench {

struct Case {
  std::string name;               // "1536x1792x6016", or a group's suite and distribution
  std::string kind;               // the list's "why": "square", "skinny", …
  std::vector<GemmShape> groups;  // one for a dense product
};

// Reads a list in one of two forms, told apart by the first line: "m,n,k,why", or
// "suite,groups,n,k,total_rows,sizes", whose row counts are drawn multinomially, with equal
// probabilities ("uniform") or Dirichlet ones ("dirichlet(1.0)") of a seed. `row_divisor` divides
// the total rows of groups. Throws Error(io) that names the line.
std::vector<Case> parse_cases(std::string_view csv, const std::string& source, int row_divisor,
                              std::uint64_t seed = 0);

// The list called "cpu", "decode", "dense", "epilogue", "grouped", "last_wave" or "weights"; empty
// for any other name.
std::string_view built_in_shapes(std::string_view name);
// All of their names, as "cpu, decode, …".
std::string built_in_names();

}  // namespace tessera::bench
