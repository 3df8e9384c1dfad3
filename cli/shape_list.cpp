#include "cli/shape_list.hpp"

#include <filesystem>
#include <string_view>

#include "bench/cases.hpp"
#include "cli/text_file.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

std::string shape_list(const std::string& name) {
  const std::string_view built_in = bench::built_in_shapes(name);
  if (!built_in.empty()) return std::string(built_in);
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    throw Error(ErrorCode::io, "list of shapes",
                "be " + bench::built_in_names() + " or an existing CSV file", "'" + name + "'",
                "choose a listed name, check the path, or draw shapes with log256 or loguniform");
  }
  return read_text_file(name);
}

}  // namespace tessera::cli
