#include "cli/text_file.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

#include "tessera/error.hpp"

namespace tessera::cli {

std::string read_text_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMaxBytes = 64 << 20;
  const std::string argument = "file '" + path.string() + "'";
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() != std::filesystem::file_type::regular) {
    throw Error(ErrorCode::io, argument, "be an existing file",
                error ? error.message() : "something that is no ordinary file", "check the path");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMaxBytes) {
    throw Error(ErrorCode::io, argument, "be of at most 64 MB", std::to_string(size) + " bytes",
                "check that it is the right file");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    throw Error(ErrorCode::io, argument, "be readable", "a file that cannot be read",
                "check its permissions");
  }
  return text;
}

}  // namespace tessera::cli
