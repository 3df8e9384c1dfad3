// Reads a group of products from a JSON file that lists their .npy files:
//
//   {"products": [{"a": "A0.npy", "b": "B0.npy", "c": "C0.npy"}, …]}
//
// Paths are relative to the JSON file. "c" is where the result goes, and may be absent.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct ProductFiles {
  std::filesystem::path a;
  std::filesystem::path b;
  std::optional<std::filesystem::path> c;
};

// Throws Error(io) that names the file and the place in it.
std::vector<ProductFiles> read_group_file(const std::filesystem::path& path);

// The same from text; `directory` is what paths are relative to, `name` stands for the file in
// messages.
std::vector<ProductFiles> parse_group_file(std::string_view text,
                                           const std::filesystem::path& directory,
                                           const std::string& name);

}  // namespace tessera::cli
