// The GPU at hand as a Machine. Compiles and links everywhere, like run.hpp.
#pragma once

#include "tessera/machine.hpp"

namespace tessera::cuda {

// CUDA devices that this process can use; 0 without a driver or in a build without CUDA. Never
// throws.
int device_count();

// The description of the device's kind (core/machines.cpp), scaled to what the driver tells
// (core/reported_gpu.hpp). Throws Error(unsupported) where there is no such device.
Machine cuda_machine(int device = 0);

}  // namespace tessera::cuda
