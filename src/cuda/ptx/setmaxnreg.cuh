// setmaxnreg: a warpgroup hands registers back, so that another may have more.
#pragma once

namespace tessera::ptx {

template <int kRegisters>
__device__ inline void give_registers_up_to() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ inline void take_registers_up_to() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace tessera::ptx
