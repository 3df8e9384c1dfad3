#include "cli/shape.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "core/validate.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::int64_t kMaxBlock = std::int64_t{1} << 20;
constexpr std::size_t kShownGroups = 4;

// So many numbers with 'x' between and nothing else.
template <std::size_t count>
std::optional<std::array<std::int64_t, count>> numbers_in(std::string_view text, std::int64_t least,
                                                          std::int64_t most) {
  std::array<std::int64_t, count> numbers{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0 && (at == end || (*at != 'x' && *at != 'X'))) return std::nullopt;
    if (i > 0) ++at;
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] < least || numbers[i] > most) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return numbers;
}

}  // namespace

GemmShape parse_shape(std::string_view text, std::string_view argument) {
  const auto numbers = numbers_in<3>(text, 0, kLargestSize);
  if (!numbers) {
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("be MxNxK, three sizes from 0 to {}", kLargestSize),
                fmt::format("'{}'", text), "write for example 1536x1792x6016");
  }
  return {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
}

std::vector<GemmShape> parse_shapes(std::string_view text, std::string_view argument) {
  std::vector<GemmShape> shapes;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t colon = one.find(':');
    const GemmShape shape = parse_shape(one.substr(0, colon), argument);
    const auto count = colon == std::string_view::npos
                           ? std::optional<std::array<std::int64_t, 1>>({1})
                           : numbers_in<1>(one.substr(colon + 1), 1, kMaxBlock);
    if (!count) {
      throw Error(ErrorCode::invalid_argument, argument,
                  fmt::format("repeat a product from 1 to {} times", kMaxBlock),
                  fmt::format("'{}'", one), "write for example 32x32x32:1000");
    }
    shapes.insert(shapes.end(), static_cast<std::size_t>((*count)[0]), shape);
    if (comma == std::string_view::npos) return shapes;
    text.remove_prefix(comma + 1);
  }
}

MatrixSize parse_matrix_size(std::string_view text, std::string_view argument) {
  const auto numbers = numbers_in<2>(text, 0, kLargestSize);
  if (!numbers) {
    throw Error(ErrorCode::invalid_argument, argument,
                fmt::format("be ROWSxCOLS, two sizes from 0 to {}", kLargestSize),
                fmt::format("'{}'", text), "write for example 1536x6016");
  }
  return {(*numbers)[0], (*numbers)[1]};
}

TileConfig parse_tile(std::string_view text) {
  const auto numbers = numbers_in<3>(text, 1, kMaxBlock);
  if (!numbers) {
    throw Error(ErrorCode::invalid_argument, "--tile",
                fmt::format("be BMxBNxBK, three sizes from 1 to {}", kMaxBlock),
                fmt::format("'{}'", text), "write for example 128x128x32");
  }
  TileConfig tile;
  tile.block_m = static_cast<int>((*numbers)[0]);
  tile.block_n = static_cast<int>((*numbers)[1]);
  tile.block_k = static_cast<int>((*numbers)[2]);
  return tile;
}

std::string to_text(const GemmShape& shape) {
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

std::string to_text(const std::vector<GemmShape>& groups) {
  if (groups.empty()) return "no products";
  std::string text;
  std::int64_t rows = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    rows += groups[g].m;
    if (g < kShownGroups) text += (g > 0 ? ", " : "") + to_text(groups[g]);
  }
  if (groups.size() <= kShownGroups) return text;
  return fmt::format("{} products, {} rows in all: {}, ...", groups.size(), rows, text);
}

}  // namespace tessera::cli
