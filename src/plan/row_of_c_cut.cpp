#include "plan/row_of_c_cut.hpp"

#include <cstdint>

#include "core/passing_rule.hpp"
#include "core/tile_registers_rule.hpp"
#include "plan/cpu_blocks.hpp"

namespace tessera {
namespace {

// Tile registers write C so fast that workers that write parts of its rows wait for each other,
// wherever the rows start: most where k is short, and C too large for a near cache; two workers
// elsewhere, too, most where their parts meet in lines, while more of them had better have parts
// that are nearly square. Microseconds with C's columns divided and with its rows, 2026-11: Granite
// Rapids, two threads, i8 1000×1000×100 194, 87, 384×384×3000 236, 190, 768³ 173, 147, 1024³ 388,
// 361, 512³ 61, 52; bf16 2000×2000×64 520, 324, 768³ 404, 307, 512³ 98, 87; of a small C i8 256³
// 9.2, 9.7, 320³ 13.5, 15.0, bf16 192³ 8.0, 9.2; rows that meet in lines 300³ 43, 19. Emerald
// Rapids, 16 threads, four by four, two by eight and sixteen, i8 1000×1000×100 77, 52, 36, 512³ 36,
// 42, 46, bf16 512³ 63, 70, 90.
constexpr double kRowOfCCutDear = 100e-9;
constexpr double kRowOfCCutByTwo = 30e-9;
constexpr std::int64_t kShortRowBytes = 256;

}  // namespace

double row_of_c_cut_by_tile_registers(const KernelEntry* kernel, const GemmShape& shape,
                                      const Problem& problem, const Machine& machine, int workers) {
  if (kernel == nullptr || !has_tile_registers(*kernel)) return 0;
  const double c_bytes = bytes_of(shape.m, shape.n, accumulator_of(problem.types));
  const auto l2 = static_cast<double>(machine.scratchpad_bytes);
  const bool is_short = shape.k <= kShortRowBytes / size_of(problem.types.a);
  if (is_short && c_bytes > l2) return kRowOfCCutDear;
  if (workers != 2) return 0;
  if (!begin_at_lines(problem.c.alignment)) return kRowOfCCutDear;
  return 4 * c_bytes > l2 ? kRowOfCCutByTwo : 0;
}

}  // namespace tessera
