// The strips in which a tile's partial tiles are added up (split_tiles.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/product.hpp"
#include "cpu/workspace.hpp"

namespace tessera::cpu {

// Rows or parts of a row of C, or of a C whose columns are dense whole lines of those.
struct Strips {
  std::int64_t rows = 1;  // of a strip
  std::int64_t cols = 1;
  std::int64_t down = 1;  // strips below one another
  std::int64_t across = 1;

  int count() const { return static_cast<int>(down * across); }

  // Within the tile.
  TileExtent strip(int number, const TileExtent& tile) const {
    const std::int64_t row = number / across * rows;
    const std::int64_t col = number % across * cols;
    return {row, col, std::min(rows, tile.rows - row), std::min(cols, tile.cols - col)};
  }
};

// So many that threads share one tile evenly, and so few that each has more to do than to ask for
// the next.
inline Strips strips_of(const Product& product, const TileExtent& tile, std::int32_t peers) {
  constexpr std::int64_t kLeastBytes = 2 << 10;
  constexpr std::int64_t kLeastReadBytes = 16 << 10;  // of all peers
  constexpr std::int64_t kMostStrips = 1 << 20;
  const std::int64_t size = size_of(product.code->accumulator);
  const std::int64_t elements = std::max(
      {kLeastBytes / size, kLeastReadBytes / (size * peers), tile.rows * tile.cols / kMostStrips});
  const auto line = static_cast<std::int64_t>(kCacheLine) / size_of(product.c.type);
  const bool has_rows = product.c.col_stride == 1 || tile.rows == 1;
  Strips strips;
  strips.rows = has_rows ? 1 : std::min(line, tile.rows);
  // Of whole lines in the partial tiles.
  strips.cols =
      std::min(tile.cols, padded_columns(std::max<std::int64_t>(1, elements / strips.rows)));
  if (has_rows && strips.cols == tile.cols) {
    strips.rows = std::clamp<std::int64_t>(elements / padded_columns(tile.cols), 1, tile.rows);
  }
  strips.down = (tile.rows + strips.rows - 1) / strips.rows;
  strips.across = (tile.cols + strips.cols - 1) / strips.cols;
  return strips;
}

// A strip of one partial tile += the same of another; their rows lie `stride` elements apart.
inline void add_rows(const KernelCode& code, unsigned char* sum, const unsigned char* other,
                     const TileExtent& strip, std::int64_t stride) {
  if (padded_columns(strip.cols) == stride) {  // of all columns, in one piece
    return code.add(sum, other, (strip.rows - 1) * stride + strip.cols);
  }
  const std::int64_t row_bytes = stride * size_of(code.accumulator);
  for (std::int64_t row = 0; row < strip.rows; ++row) {
    code.add(sum + row * row_bytes, other + row * row_bytes, strip.cols);
  }
}

}  // namespace tessera::cpu
