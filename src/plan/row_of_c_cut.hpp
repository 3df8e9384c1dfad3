// What it costs workers with tile registers to share rows of C.
#pragma once

#include "tessera/machine.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Seconds for each row that several write parts of.
double row_of_c_cut_by_tile_registers(const GemmShape& shape, const Problem& problem,
                                      const Machine& machine, int workers);

}  // namespace tessera
