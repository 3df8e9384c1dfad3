// A Machine: a processor as data. The planner reads this and never asks the hardware, so that a
// plan can be made, tested and explained for a machine that is not there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/element_type.hpp"
#include "tessera/export.hpp"

namespace tessera {

enum class MachineKind : std::uint8_t { cpu, gpu };

// Peak arithmetic rate for one input type, of the widest instructions that multiply it as it is. A
// CPU that has such for bf16 may multiply f32 faster all the same, as Sapphire Rapids does without
// its tile registers; the planner weighs widening then.
struct PeakRate {
  ElementType type = ElementType::f32;
  double flops_per_second_per_worker = 0;  // a multiply-add counts as two
};

// The constants of the cost model (plan/cost.hpp has the formula they enter). `source` says where
// and when they were fitted; `tessera calibrate` replaces them.
struct CostConstants {
  double launch_seconds = 0;  // from the call to the first useful instruction
  double tile_seconds = 0;    // a: per work item: prologue of the pipeline and the epilogue
  double split_seconds = 0;   // b: once for a tile that has more than one contributor
  double iteration_overhead_seconds = 0;  // c0: per MAC iteration, beside its arithmetic
  double peer_seconds_per_byte = 0;       // d: adding one byte of a peer's partial tile
  double pack_seconds_per_byte = 0;       // CPU: packing one byte of an operand
  double compute_efficiency = 1;          // share of the peak that a full tile's main loop reaches
  std::string source;
};

struct Machine {
  std::string name;
  MachineKind kind = MachineKind::cpu;
  // "sm_90", "sm_80" for a GPU; the widest instruction set for a CPU: "scalar", "avx2", "avx512",
  // "avx512_bf16" (which implies VNNI), "amx". Decides which catalogue entries may run.
  std::string architecture;
  int workers = 1;                     // SMs, or cores
  std::int64_t scratchpad_bytes = 0;   // per worker: shared memory a block may use, or L2
  std::int64_t l1_bytes = 0;           // per worker; only a CPU has one apart from the scratchpad
  std::int64_t cache_bytes = 0;        // shared by all workers: L2 of a GPU, L3 of a CPU
  double memory_bytes_per_second = 0;  // measured copy or read bandwidth, all workers
  double cache_bytes_per_second = 0;   // from the shared cache, all workers
  double worker_memory_bytes_per_second = 0;  // what one worker alone can draw from memory
  // CPU with "amx": f32 may be multiplied in three parts of bf16 by tile registers, which is about
  // as precise (docs/f32_in_parts.md). Some do it twice as fast, others, whose cores are shared,
  // half as fast: `tessera calibrate` finds out. false: only by a kernel's name.
  bool splits_f32 = false;
  // Likewise f64 by fifteen residues of 8 bits, on up to two workers: exactly but for what elements
  // lose that are small beside their whole row of A or column of B, and by vectors where those are
  // too uneven (docs/f64_by_residues.md).
  bool splits_f64 = false;
  std::vector<PeakRate> peaks;
  CostConstants cost;

  // 0 where the machine has no rate for the type.
  TESSERA_API double peak(ElementType type) const;
};

// JSON with a "schema" number. from_json throws Error(io) for text that is no machine, and names
// the field that is missing or foreign.
TESSERA_API std::string to_json(const Machine& machine);
TESSERA_API Machine machine_from_json(std::string_view text);

// The descriptions that ship with the library, by name ("h200", "a100-108sm", ...), for planning
// where the hardware is not at hand. Throws Error(invalid_argument) that lists the known names.
TESSERA_API Machine machine_by_name(std::string_view name);
TESSERA_API std::vector<std::string> machine_names();

// The processor this code runs on: cores by affinity mask and cgroup, caches, instruction sets up
// to TESSERA_ISA (Error(invalid_argument) where it lacks that one), default cost constants of its
// kind. It splits f32 and f64 where its kind was measured to gain by that, or as
// TESSERA_SPLIT_F32 and TESSERA_SPLIT_F64 say.
TESSERA_API Machine host_machine();

// The same CPU as `workers` of its cores see it, at least 1: for plans of calls on fewer threads.
TESSERA_API Machine with_workers(Machine machine, int workers);

}  // namespace tessera
