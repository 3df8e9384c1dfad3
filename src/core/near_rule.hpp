// When a CPU reads a B that stays near where it lies, by register tiles of four vectors
// (cpu/small_kernel.hpp): the planner offers it and the backend does it by the same rule.
#pragma once

#include <cstdint>

#include "core/in_place_rule.hpp"
#include "core/passing_rule.hpp"
#include "tessera/machine.hpp"

namespace tessera {

// How operands in place lie, with B's rows dense and A's rows or its columns.
struct PlacesInMemory {
  bool a_lies_along_k = false;
  double a_step_bytes = 0;  // from one element along k to the next,
  double b_row_bytes = 0;   // and of B
  bool b_begins_at_lines = false;
};

// Of a block of C with all of k. Rather than packed in passing: what is read again for every six
// rows comes from the second-level cache then, and has to stay there beside A. The vectors of rows
// that do not begin at lines are split over two, and only short ones are worth that. Of an A across
// k each step reads lines of another page.
//
// Emerald Rapids, one thread, 2026-11, the time in passing or packed over the time so, f32, k of
// 384, 512 and 1024: 48×64 1.30, 1.28, 1.30, 64×64 1.25, 1.23, 1.24, 64×128 1.10, 1.10, 1.11, 128²
// 1.07, 1.06, 1.07, 64×256 1.09, 1.09, 1.07, 128×256 1.03, 1.05, 1.02, 256×64 1.15, 1.15, 1.12; in
// minutes when nobody was beside 48×64 1.10, 1.11, 1.21, 64×128 1.06, 1.05, 1.06. Eleven shapes of
// 24 to 250 rows with k of 352 to 1500, A across, too, f32 1.10, f64 1.04, 1.04, two threads f32
// 1.08, 1.06, f64 1.07. More of C: 256² 1.02, 1.02, 0.99, 128×384 0.95, 0.95, 0.94, 128×512 0.94,
// 0.93, 0.91; rows of 4 KB 32×1024 0.85, 0.53, 0.97; more bytes 64×128×3000 0.97, ×4000 0.95,
// 128²×3000 1.00, 96×192×2000 0.96, and 64²×4000 1.09. Rows that do not begin at lines, k of 396
// and 970: 14×50 1.37, 1.20, 31×40 1.51, 1.34, 44×33 1.34, 1.28, 14×100 1.29, 1.20, 100×33 1.34,
// 1.00, 80×100 1.00, 0.99, 44×110 0.94, 0.92, 31×223 0.87, 0.87, 80×159 0.88, 0.86, A across 20×33
// 1.80, 1.64, 31×50 1.30, 1.29, 44×66 0.98, 1.02, 70×42 0.99, 0.87, 31×92 0.91, 0.90, f64 44×33
// 1.48, 1.47, 70×50 1.40, 1.01, 100×50 1.03, 0.99, 150×41 0.93, 1.02, 62×45×1753 0.84; k of 200 and
// 300 500×24 1.28, 1.33, 1000×19 1.29, 1.01, 250×42 0.89, 0.83, 1000×31 0.97, 0.86. A across: f32
// 1300×24×120 1.54, 1000×32×160 1.18, 600×32×256 1.14, ×400 0.92, ×600 0.84, 500×48×300 0.82,
// 600×48×600 0.65; f64 800×20×160 1.27, 300×48×400 0.85, 341×48×300 0.80. With the caches flushed
// before every call level. Other machines were not measured.
inline bool reads_near(const Machine& machine, const FacedSizes& block,
                       const PlacesInMemory& places) {
  constexpr double kMostRowBytes = 2 << 10;
  constexpr double kMostRowBytesOffLines = 400;
  constexpr double kMostOfC = 128 << 10;
  constexpr double kMostOfCOffLines = 10 << 10;
  constexpr double kMostOfC64OffLines = 32 << 10;
  constexpr double kFewColumnsOffLines = 24;
  constexpr double kMostStepsAcross = 160;
  const auto l2 = static_cast<double>(machine.scratchpad_bytes);
  const bool suits_a = places.a_lies_along_k || block.depth <= kMostStepsAcross ||
                       4 * places.a_step_bytes * block.depth <= l2;
  const double c_bytes = block.rows * places.b_row_bytes;  // as large as B's elements
  const double most_off_lines = block.element_bytes > 4 ? kMostOfC64OffLines : kMostOfCOffLines;
  const double bytes = (block.rows + block.cols) * block.depth * block.element_bytes;
  const bool is_small = c_bytes <= most_off_lines && 2 * bytes <= l2;
  const bool suits_off_lines = places.b_row_bytes <= kMostRowBytesOffLines &&
                               (is_small || block.cols <= kFewColumnsOffLines);
  const bool suits_b =
      places.b_begins_at_lines ? places.b_row_bytes <= kMostRowBytes : suits_off_lines;
  return has_much_room(machine) && suits_passing(machine, block) && suits_a && suits_b &&
         c_bytes <= kMostOfC && 4 * bytes <= 3 * l2;
}

}  // namespace tessera
