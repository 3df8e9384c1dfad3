// Sizes as people type them: products "1536x1792x6016", groups of them, tiles "128x128x32".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera::cli {

// MxNxK, each from 0 to 2^40. `argument` names the option in the error.
GemmShape parse_shape(std::string_view text, std::string_view argument);

// One or more shapes with commas between; "MxNxK:COUNT" stands for COUNT equal ones, at most 2^20.
std::vector<GemmShape> parse_shapes(std::string_view text, std::string_view argument);

struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};
// ROWSxCOLS, each from 0 to 2^40.
MatrixSize parse_matrix_size(std::string_view text, std::string_view argument);

// BMxBNxBK, each from 1 to 2^20; the other fields stay as they are.
TileConfig parse_tile(std::string_view text);

std::string to_text(const GemmShape& shape);  // of a tile: core/tile_config.hpp
// All shapes of a short list; a count, the first and the total rows of a long one.
std::string to_text(const std::vector<GemmShape>& groups);

}  // namespace tessera::cli
