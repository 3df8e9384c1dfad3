// What CUDA's kernels are given, and what they have in common of it: the general ones all of
// KernelArguments, Hopper's have arguments of their own (sm90_arguments.hpp). Kernels take minutes
// to compile, so neither tessera/problem.hpp nor plan.hpp is included here.
#pragma once

#include <cstdint>

#include "cuda/group_operands.hpp"
#include "cuda/trace_record.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"
#include "tessera/element_type.hpp"
#include "tessera/epilogue.hpp"

namespace tessera::cuda {

struct EpilogueArguments {
  double alpha = 1;
  double beta = 0;
  BiasAxis bias = BiasAxis::none;
  Activation activation = Activation::none;
  ElementType bias_type = ElementType::f32;
  ElementType c_type = ElementType::f32;
};

// An activation that takes many instructions.
constexpr bool is_heavy(Activation activation) {
  return activation != Activation::none && activation != Activation::relu;
}

// The workspace, as fixup.cuh uses it: slots of block_m·block_n accumulators, and zeroed counters.
struct FixupSpace {
  void* slots = nullptr;
  std::uint32_t* counters = nullptr;
  std::int64_t counters_per_level = 0;
};

// The line of groups in device memory, as a small kernel before the product's computes it where the
// sizes stand there (group_prologue.cuh), or as the host sends it.
struct DeviceLine {
  Partition partition;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  // The next unit (partition.hpp) that a worker may claim, where workers do. The first ones belong
  // to the workers of the same number.
  std::int32_t next_unit = 0;
};

// Passed by value, as a __grid_constant__ parameter: a call with few groups copies nothing to the
// device beforehand.
struct KernelArguments {
  static constexpr int kInlineGroups = 16;

  Partition partition;
  std::int32_t group_count = 0;
  std::int64_t tiles = 0;
  std::int64_t iterations = 0;
  EpilogueArguments epilogue;
  FixupSpace fixup;
  // Device memory, for more groups than fit here; null where the inline arrays hold them all.
  const GroupExtent* extents = nullptr;
  const GroupOperands* operands = nullptr;
  // Device memory; not null where the device makes partition, tiles and iterations.
  const DeviceLine* line = nullptr;
  TraceSpace trace;  // null: nothing is recorded
  GroupExtent inline_extents[kInlineGroups];
  GroupOperands inline_operands[kInlineGroups];

  TESSERA_HD IterationSpace space() const {
    return {extents != nullptr ? extents : inline_extents, group_count,
            line != nullptr ? line->tiles : tiles, line != nullptr ? line->iterations : iterations};
  }
  TESSERA_HD const GroupOperands& group(std::int32_t index) const {
    return operands != nullptr ? operands[index] : inline_operands[index];
  }
};

}  // namespace tessera::cuda
