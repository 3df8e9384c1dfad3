// What it costs workers with tile registers to share rows of C.
#pragma once

#include "core/catalogue.hpp"
#include "tessera/machine.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Seconds for each row that several of `workers` write parts of; 0 with other kernels, or none.
double row_of_c_cut_by_tile_registers(const KernelEntry* kernel, const GemmShape& shape,
                                      const Problem& problem, const Machine& machine, int workers);

}  // namespace tessera
