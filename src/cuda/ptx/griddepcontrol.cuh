// griddepcontrol: programmatic dependent launch, the overlap of one kernel's start with the end of
// the one before it in the stream.
#pragma once

namespace tessera::ptx {

// Returns when the kernels this one depends on are complete and their writes visible.
__device__ inline void wait_for_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the next kernel's blocks start as soon as SMs have room for them.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace tessera::ptx
