// Blocks of CPU tiles: equal parts of C's sides and of k.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/catalogue.hpp"
#include "core/tile_registers_rule.hpp"
#include "tessera/plan.hpp"

namespace tessera {

constexpr std::int64_t kPageBytes = 4096;

// A split leaves each piece at least so much of each row.
constexpr std::int64_t kLeastSplitBytes = 1024;

// Beyond this many rows or columns a wider tile amortises nothing more, while C falls out of cache;
// and with half as many columns B's packed panels do: 4096³ in f32 110.9 GFLOP/s with 4096 columns,
// 111.4 with 2048 (Zen 4, 2026-11).
constexpr std::int64_t kWidestBlock = 4096;
constexpr std::int64_t kMostPackedColumns = 2048;
// Half of that for narrow register tiles: Zen 3, one thread, 2026-11, the time with 2048 over the
// time with 1024, f32 2048³ 0.98 to 1.12, 500×2000×2000 0.97 to 1.08, 1500³ 1.00, f64 2048³ 1.04 to
// 1.08.
constexpr std::int64_t kMostPackedColumnsOfNarrow = 1024;

inline int round_up_to(std::int64_t value, int multiple) {
  const std::int64_t step = std::max(multiple, 1);
  return static_cast<int>(std::min<std::int64_t>((value + step - 1) / step * step, 1 << 20));
}

inline std::int64_t pieces(std::int64_t size, std::int64_t block) {
  return (size + block - 1) / block;
}

// Bytes of k that a packed micro-panel holds per row: 1024 f32 values. Deeper, and a panel of nr
// columns and its rows of A leave little of L2 for what comes next; shallower, and C is updated
// more often. Zen 4, 2026-11, GFLOP/s with this and with half of it: f32 1000³ 110.5 (109.0), 1025³
// 109.2 (107.0), 2048³ 112.8 (111.6); f64 512³ 56.2 (55.1), 1000³ 56.2 (55.4), 1025³ 53.5 (52.2);
// bf16 2048³ 224 (222). Bytes: 64×4096×4096 with 2048 355, with 1024 374, and 128×128×32768 399 and
// 398. So shallow that B's block stays in L2 loses too: f32 512³ 113.0 (110.7 with 256 of k),
// 384×384×3000 108.7 (107.8 with 336), f64 512³ 53.3 (43.7 with 128).
inline std::int64_t panel_bytes_per_row(const KernelEntry& kernel) {
  return kernel.packed_size == 1 ? 2048 : 4096;
}

// Of a matrix of any size.
inline double bytes_of(std::int64_t rows, std::int64_t cols, ElementType type) {
  return static_cast<double>(rows) * static_cast<double>(cols) * size_of(type);
}

// One side of C in `parts` equal blocks, or in more if those were too wide.
inline int choose_block(std::int64_t size, std::int64_t parts, int multiple,
                        std::int64_t most = kWidestBlock) {
  const std::int64_t each = pieces(std::max<std::int64_t>(size, 1), parts);
  const std::int64_t cuts = pieces(each, most);
  return round_up_to(pieces(each, cuts), multiple);
}

}  // namespace tessera
