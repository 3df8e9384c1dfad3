// Random lists of dense products, the same for the same seed on every machine: what "faster in
// general" is judged on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases.hpp"

namespace tessera::bench {

// "log256": m, n and k from the distinct values of round(2^u / 256)·256 with 1000 evenly spaced u
// in [8, 13]; triples drawn without replacement, at most 1000. "loguniform": each dimension 2^u, u
// uniform in [7, 13], rounded down to a multiple of 8. "awkward": each dimension 2^u rounded down,
// u uniform in [1, 11.5], so from 2 to 2896 and of no particular divisor; triples of more than
// 2·10⁷ multiply-adds are drawn again, so that a list of a hundred takes a CPU's core seconds. A
// longer list of the same seed begins with the shorter one. Throws Error(invalid_argument) for
// another name.
std::vector<Case> corpus(std::string_view name, int count, std::uint64_t seed);

std::vector<std::string> corpus_names();

}  // namespace tessera::bench
