// The GPU at hand as a Machine. Compiles and links everywhere, like run.hpp.
#pragma once

#include "tessera/machine.hpp"

namespace tessera::cuda {

// CUDA devices that this process can use; 0 without a driver or in a build without CUDA. Never
// throws.
int device_count();

// Workers, scratchpad, caches and clocks as the driver reports them; bandwidths and cost constants
// are those shipped for the device's kind (core/machines.cpp), scaled where the device differs.
// Throws Error(unsupported) where there is no such device.
Machine cuda_machine(int device = 0);

}  // namespace tessera::cuda
