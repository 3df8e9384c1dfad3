// wgmma: a warpgroup multiplies 64×16 by 16×N, both in shared memory, into fp32 registers. The
// tensor cores work asynchronously: fence before the first, commit a group, wait for it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tessera::ptx {

// Orders the registers and shared memory of this warpgroup before the wgmmas that follow.
__device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Makes one group of the wgmmas issued since the last commit.
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending of the committed groups are unfinished.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of an accumulator across asynchronous wgmmas.
template <int kCount>
__device__ inline void hold_registers(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Tells the compiler that an accumulator's old value is dead, where a wgmma with scale_d = 0 is
// next.
template <int kCount>
__device__ inline void forget_registers(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "=f"(d[i]));
}

// D = A·B + scale_d·D. A and B are matrix descriptors (smem_descriptor.cuh); kTransA and kTransB
// are 1 where the operand's rows or columns, instead of k, are contiguous. d holds 64×N sums by the
// warpgroup: of each 8 columns, a thread has two in row lane / 4 of its warp's 16 and two 8 rows
// below.
template <class T, int kN, int kTransA, int kTransB>
struct Wgmma;

// Operand names %0 … %(N/2 − 1) in tens, and the registers bound to them in eights.
#define TESSERA_TEN(t) \
  "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define TESSERA_D8(i)                                                                         \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define TESSERA_D32(i) TESSERA_D8(i), TESSERA_D8(i + 8), TESSERA_D8(i + 16), TESSERA_D8(i + 24)

#define TESSERA_TENS_4 TESSERA_TEN() TESSERA_TEN(1) TESSERA_TEN(2) TESSERA_TEN(3)
#define TESSERA_TENS_8 TESSERA_TENS_4 TESSERA_TEN(4) TESSERA_TEN(5) TESSERA_TEN(6) TESSERA_TEN(7)

#define TESSERA_NAMES_16 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TESSERA_NAMES_32 TESSERA_TEN() "%10,%11,%12,%13,%14,%15"
#define TESSERA_NAMES_48 TESSERA_TEN() TESSERA_TEN(1) "%20,%21,%22,%23"
#define TESSERA_NAMES_64 TESSERA_TEN() TESSERA_TEN(1) TESSERA_TEN(2) "%30,%31"
#define TESSERA_NAMES_80 \
  TESSERA_TEN() TESSERA_TEN(1) TESSERA_TEN(2) "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39"
#define TESSERA_NAMES_96 TESSERA_TENS_4 "%40,%41,%42,%43,%44,%45,%46,%47"
#define TESSERA_NAMES_112 TESSERA_TENS_4 TESSERA_TEN(4) "%50,%51,%52,%53,%54,%55"
#define TESSERA_NAMES_128 TESSERA_TENS_4 TESSERA_TEN(4) TESSERA_TEN(5) "%60,%61,%62,%63"
#define TESSERA_NAMES_144 TESSERA_TENS_4 TESSERA_TEN(4) TESSERA_TEN(5) TESSERA_TEN(6) "%70,%71"
#define TESSERA_NAMES_160                      \
  TESSERA_TENS_4 TESSERA_TEN(4) TESSERA_TEN(5) \
      TESSERA_TEN(6) "%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define TESSERA_NAMES_176 TESSERA_TENS_8 "%80,%81,%82,%83,%84,%85,%86,%87"
#define TESSERA_NAMES_192 TESSERA_TENS_8 TESSERA_TEN(8) "%90,%91,%92,%93,%94,%95"
#define TESSERA_NAMES_208 TESSERA_TENS_8 TESSERA_TEN(8) TESSERA_TEN(9) "%100,%101,%102,%103"
#define TESSERA_NAMES_224 TESSERA_TENS_8 TESSERA_TEN(8) TESSERA_TEN(9) TESSERA_TEN(10) "%110,%111"
#define TESSERA_NAMES_240                      \
  TESSERA_TENS_8 TESSERA_TEN(8) TESSERA_TEN(9) \
      TESSERA_TEN(10) "%110,%111,%112,%113,%114,%115,%116,%117,%118,%119"
#define TESSERA_NAMES_256                                      \
  TESSERA_TENS_8 TESSERA_TEN(8) TESSERA_TEN(9) TESSERA_TEN(10) \
      TESSERA_TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127"

#define TESSERA_REGISTERS_16 TESSERA_D8(0)
#define TESSERA_REGISTERS_32 TESSERA_D8(0), TESSERA_D8(8)
#define TESSERA_REGISTERS_48 TESSERA_D8(0), TESSERA_D8(8), TESSERA_D8(16)
#define TESSERA_REGISTERS_64 TESSERA_D32(0)
#define TESSERA_REGISTERS_80 TESSERA_D32(0), TESSERA_D8(32)
#define TESSERA_REGISTERS_96 TESSERA_D32(0), TESSERA_D8(32), TESSERA_D8(40)
#define TESSERA_REGISTERS_112 TESSERA_D32(0), TESSERA_D8(32), TESSERA_D8(40), TESSERA_D8(48)
#define TESSERA_REGISTERS_128 TESSERA_D32(0), TESSERA_D32(32)
#define TESSERA_REGISTERS_144 TESSERA_D32(0), TESSERA_D32(32), TESSERA_D8(64)
#define TESSERA_REGISTERS_160 TESSERA_D32(0), TESSERA_D32(32), TESSERA_D8(64), TESSERA_D8(72)
#define TESSERA_REGISTERS_176 \
  TESSERA_D32(0), TESSERA_D32(32), TESSERA_D8(64), TESSERA_D8(72), TESSERA_D8(80)
#define TESSERA_REGISTERS_192 TESSERA_D32(0), TESSERA_D32(32), TESSERA_D32(64)
#define TESSERA_REGISTERS_208 TESSERA_D32(0), TESSERA_D32(32), TESSERA_D32(64), TESSERA_D8(96)
#define TESSERA_REGISTERS_224 \
  TESSERA_D32(0), TESSERA_D32(32), TESSERA_D32(64), TESSERA_D8(96), TESSERA_D8(104)
#define TESSERA_REGISTERS_240 \
  TESSERA_D32(0), TESSERA_D32(32), TESSERA_D32(64), TESSERA_D8(96), TESSERA_D8(104), TESSERA_D8(112)
#define TESSERA_REGISTERS_256 TESSERA_D32(0), TESSERA_D32(32), TESSERA_D32(64), TESSERA_D32(96)

// A, B, SCALE, TA, TB: the names of the operands after the N/2 registers.
#define TESSERA_WGMMA(TYPE, NAME, N, A, B, SCALE, TA, TB)                                \
  template <int kTransA, int kTransB>                                                    \
  struct Wgmma<TYPE, N, kTransA, kTransB> {                                              \
    __device__ static void multiply(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, \
                                    std::int32_t scale_d) {                              \
      asm volatile("{.reg .pred p; setp.ne.b32 p, " SCALE                                \
                   ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME  \
                   " {" TESSERA_NAMES_##N "}, " A ", " B ", p, 1, 1, " TA ", " TB ";}"   \
                   : TESSERA_REGISTERS_##N                                               \
                   : "l"(a), "l"(b), "r"(scale_d), "n"(kTransA), "n"(kTransB));          \
    }                                                                                    \
  }
#define TESSERA_WGMMA_TYPES(N, ...)                     \
  TESSERA_WGMMA(__nv_bfloat16, "bf16", N, __VA_ARGS__); \
  TESSERA_WGMMA(__half, "f16", N, __VA_ARGS__)

TESSERA_WGMMA_TYPES(16, "%8", "%9", "%10", "%11", "%12");
TESSERA_WGMMA_TYPES(32, "%16", "%17", "%18", "%19", "%20");
TESSERA_WGMMA_TYPES(48, "%24", "%25", "%26", "%27", "%28");
TESSERA_WGMMA_TYPES(64, "%32", "%33", "%34", "%35", "%36");
TESSERA_WGMMA_TYPES(80, "%40", "%41", "%42", "%43", "%44");
TESSERA_WGMMA_TYPES(96, "%48", "%49", "%50", "%51", "%52");
TESSERA_WGMMA_TYPES(112, "%56", "%57", "%58", "%59", "%60");
TESSERA_WGMMA_TYPES(128, "%64", "%65", "%66", "%67", "%68");
TESSERA_WGMMA_TYPES(144, "%72", "%73", "%74", "%75", "%76");
TESSERA_WGMMA_TYPES(160, "%80", "%81", "%82", "%83", "%84");
TESSERA_WGMMA_TYPES(176, "%88", "%89", "%90", "%91", "%92");
TESSERA_WGMMA_TYPES(192, "%96", "%97", "%98", "%99", "%100");
TESSERA_WGMMA_TYPES(208, "%104", "%105", "%106", "%107", "%108");
TESSERA_WGMMA_TYPES(224, "%112", "%113", "%114", "%115", "%116");
TESSERA_WGMMA_TYPES(240, "%120", "%121", "%122", "%123", "%124");
TESSERA_WGMMA_TYPES(256, "%128", "%129", "%130", "%131", "%132");

#undef TESSERA_WGMMA_TYPES
#undef TESSERA_WGMMA
#undef TESSERA_REGISTERS_256
#undef TESSERA_REGISTERS_240
#undef TESSERA_REGISTERS_224
#undef TESSERA_REGISTERS_208
#undef TESSERA_REGISTERS_192
#undef TESSERA_REGISTERS_176
#undef TESSERA_REGISTERS_160
#undef TESSERA_REGISTERS_144
#undef TESSERA_REGISTERS_128
#undef TESSERA_REGISTERS_112
#undef TESSERA_REGISTERS_96
#undef TESSERA_REGISTERS_80
#undef TESSERA_REGISTERS_64
#undef TESSERA_REGISTERS_48
#undef TESSERA_REGISTERS_32
#undef TESSERA_REGISTERS_16
#undef TESSERA_NAMES_256
#undef TESSERA_NAMES_240
#undef TESSERA_NAMES_224
#undef TESSERA_NAMES_208
#undef TESSERA_NAMES_192
#undef TESSERA_NAMES_176
#undef TESSERA_NAMES_160
#undef TESSERA_NAMES_144
#undef TESSERA_NAMES_128
#undef TESSERA_NAMES_112
#undef TESSERA_NAMES_96
#undef TESSERA_NAMES_80
#undef TESSERA_NAMES_64
#undef TESSERA_NAMES_48
#undef TESSERA_NAMES_32
#undef TESSERA_NAMES_16
#undef TESSERA_D32
#undef TESSERA_D8
#undef TESSERA_TENS_8
#undef TESSERA_TENS_4
#undef TESSERA_TEN

}  // namespace tessera::ptx
