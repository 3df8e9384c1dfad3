// What the objects of tessera/device.hpp own. Compiles and links everywhere, like run.hpp.
#pragma once

#include <cstddef>

namespace tessera::cuda {

// Makes a device current for the calling thread; returns the one that was.
int set_current_device(int device);
void restore_current_device(int device) noexcept;

// Device memory, allocated and freed in the order of a cudaStream_t.
void* allocate(std::size_t bytes, void* stream);
void release(void* memory, void* stream) noexcept;

}  // namespace tessera::cuda
