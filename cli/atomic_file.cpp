#include "cli/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "cli/interrupt.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Small enough that Ctrl-C is heard at once, large enough that system calls do not show.
constexpr std::size_t kPiece = std::size_t{4} << 20;

[[noreturn]] void fail(const fs::path& path, const std::string& requirement,
                       const std::string& given, const std::string& remedy) {
  throw Error(ErrorCode::io, "output '" + path.string() + "'", requirement, given, remedy);
}

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// Where the bytes go in the end: a link's target, so that the link itself stays.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return path;
  if (status.type() != fs::file_type::regular) {
    fail(path, "be a new name or an ordinary file", error ? error.message() : "something else",
         "choose another name");
  }
  const fs::path canonical = fs::canonical(path, error);
  return error ? path : canonical;
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : final_path_(resolve(path)) {
  temporary_path_ = directory_of(final_path_) / ("." + final_path_.filename().string() + "." +
                                                 std::to_string(getpid()) + ".partial");
  file_ = open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) {
    fail(path, "be in a directory that can be written to", error_text(errno),
         "create the directory or choose another name");
  }
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_path_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    throw_if_interrupted();
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), kPiece));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(final_path_, "fit on its disk", error_text(errno), "make room or choose another place");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void AtomicFile::commit() {
  throw_if_interrupted();
  const bool closed = close(file_) == 0;
  file_ = -1;
  if (!closed || rename(temporary_path_.c_str(), final_path_.c_str()) != 0) {
    const int error = errno;
    unlink(temporary_path_.c_str());
    fail(final_path_, "be stored", error_text(error), "make room or choose another name");
  }
}

void check_writable(const fs::path& path) {
  const fs::path target = resolve(path);
  if (!target.has_filename()) fail(path, "name a file", "a directory", "add a file name");
  if (access(directory_of(target).c_str(), W_OK | X_OK) != 0) {
    fail(path, "be in a directory that can be written to", error_text(errno),
         "create the directory or choose another name");
  }
}

}  // namespace tessera::cli
