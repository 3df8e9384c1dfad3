// The catalogue: every kernel that is compiled into the library, one row each. The planner
// enumerates it, the dispatchers look kernels up in it by name, and nothing else lists kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/machine.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// How a kernel differs from what the cost model expects of its tile, as measured; the defaults say
// that it does not.
struct KernelSpeed {
  double main_loop_share = 1;  // of the machine's arithmetic rate
  double tile_seconds = 0;     // per tile, beyond its prologue and the writing of C
  double launch_seconds = 0;   // per launch, beyond the machine's
};

struct KernelEntry {
  std::string_view name;
  MachineKind device = MachineKind::cpu;
  std::string_view architecture;  // the least that runs it, as in Machine::architecture
  ElementType a = ElementType::f32;
  ElementType b = ElementType::f32;
  // Whose peak rate is the kernel's: f32's where a CPU widens bf16 or f16 while it packs.
  ElementType multiplies = ElementType::f32;
  // So many products of that type make one of the operands': four where each is split in two, six
  // of nine where it is split in three.
  int products = 1;
  // GPU: complete. CPU: mr and nr; the planner chooses the blocks, which any multiple may be.
  TileConfig tile;
  bool needs_tma = false;    // reads A and B, or copies of them, by the tensor memory accelerator
  std::string_view wins_at;  // what it is here for
  // GPU: shared memory of a block beside its stages (plan/scratchpad.hpp adds them up).
  std::int64_t epilogue_bytes = 0;
  KernelSpeed speed;
  // GPU: compiled for groups as well, whose tiles workers claim one by one, each when it is free,
  // and whose last tiles are no wider than they have to be.
  bool has_group_code = false;
  // GPU: taken by the rules for layers of experts (plan/layer.hpp), or by name. The model found no
  // other product that it makes faster, so that a single product has the code for all purposes.
  bool is_for_layers = false;
  // CPU: bytes of an element, for how deep packed panels are and how long packing takes.
  int packed_size = 0;
  // CPU: whether it can read operands where they lie; other rows pack whatever the tile says.
  bool reads_in_place = false;
  // CPU: whether it reads B's rows where they lie and groups them in registers; A is packed.
  bool interleaves = false;
  // CPU: the same of rows that it widens, f16 and bf16 to f32 and 8-bit integers to 16 bits.
  bool widens = false;
  // CPU: whether it multiplies rows of A by columns of B where both lie along k in memory.
  bool multiplies_dots = false;
};

// All kernels, best first within a device; the reference ends the list.
std::span<const KernelEntry> catalogue();

// The two halves, in files of their own.
std::span<const KernelEntry> cpu_kernels();
std::span<const KernelEntry> cuda_kernels();

// A worker's rate of products with the kernel, in FLOP/s, without what `speed` says.
double peak_of(const KernelEntry& kernel, const Machine& machine);

// nullptr where no kernel has the name.
const KernelEntry* find_kernel(std::string_view name);

// f32 in parts of bf16: what Machine::splits_f32 is about. Whether a panel's elements are such as
// parts hold decides how all its products are computed, so a row's bits depend on other rows.
bool splits_f32(const KernelEntry& kernel);

// f64 by residues of 8 bits: what Machine::splits_f64 is about. How a row is computed depends on
// others likewise.
bool splits_f64(const KernelEntry& kernel);

// Either.
bool looks_at_elements(const KernelEntry& kernel);

// The best rate at which a machine's kernels multiply a type: its own, or that of the type that it
// is widened to.
double best_rate(ElementType type, const Machine& machine);

// Why a kernel cannot compute a problem on a machine, as a sentence; nothing where it can. This is
// the only statement of these constraints.
std::optional<std::string> why_not(const KernelEntry& kernel, const Problem& problem,
                                   const Machine& machine);

// Coordinates of the tensor memory accelerator, and rows and columns in the kernels that use it,
// are of 32 bits; a cluster's last tile reaches past the side that it ends.
inline constexpr std::int64_t kMostTmaSide = (std::int64_t{1} << 31) - (std::int64_t{1} << 12);

// Why a kernel cannot count so far; nothing where it can. A part of why_not.
std::optional<std::string> why_not_counted(const KernelEntry& kernel,
                                           std::span<const GemmShape> shapes);

// What the tensor memory accelerator asks of an operand: 16-byte alignment of the base and of the
// outer stride, and one dense dimension.
bool suits_tma(const OperandLayout& layout);

// Likewise why a kernel cannot read a problem's operands where they lie, but from copies alone
// (core/operand_copies.hpp).
std::optional<std::string> why_not_in_place(const KernelEntry& kernel, const Problem& problem);

// Whether workers claim the tiles of products of known sizes. Code for groups writes a C wider than
// the inputs element by element: then tiles are dealt round robin by other code.
bool claims_tiles(const KernelEntry& kernel, const Problem& problem);

// Whether code for `needed` runs on `available` ("avx2" on "avx512": yes).
bool architecture_runs(std::string_view available, std::string_view needed);

}  // namespace tessera
