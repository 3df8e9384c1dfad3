// Checks of what callers hand in. Everything throws tessera::Error before anything is written.
#pragma once

#include <cstdint>
#include <span>

#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// Threads that a call may ask for. Where the system does not grant them all, GNU OpenMP ends the
// process, and for some ten thousands it overruns the caller's stack.
inline constexpr int kMostThreads = 4096;

// 0 asks for the machine's default.
constexpr bool is_thread_count(int threads) {
  return threads >= 0 && threads <= kMostThreads;
}

// The largest m, n and k: more than any memory holds, and few enough that a size times a small
// number fits into 64 bits. Products of two sizes need not.
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

// Sizes, types and epilogue of a Problem. (describe, in the public API, checks operands too.)
void check_problem(const Problem& problem);
// That such a machine can have B as it is.
void check_layouts(const Problem& problem, MachineKind kind);

// That a packed B, where there is one, is the product's B by its sizes, and packed for its types.
void check_packed_fits(const Operands& operands);

// What one product's operands pose: its part of a Problem, without the memory that one takes.
struct CheckedGroup {
  GemmShape shape;
  GemmTypes types;
  OperandLayout a, b, c;
};

// describe for a single product; allocates nothing unless C's addresses lie among another
// operand's.
CheckedGroup check_single(const Operands& operands, double alpha, double beta,
                          const Epilogue& epilogue);

// That operands are what a plan was made for: as many groups, the same shapes, types and epilogue,
// and layouts that its kernel can read.
void check_operands_fit(const Problem& planned, std::span<const Operands> groups);

}  // namespace tessera
