#include "cli/sweep_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/text_file.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& requirement,
                       const std::string& remedy) {
  throw Error(ErrorCode::io, "'" + path.string() + "'", requirement, std::strerror(errno), remedy);
}

}  // namespace

SweepFile::SweepFile(const std::filesystem::path& path, const report::SweepSettings& settings)
    : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail(path, "be writable", "choose another file");
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      fail(path, "belong to one sweep at a time", "wait for the other one, or choose another file");
    }
    struct stat status {};
    if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
      fail(path, "be an ordinary file", "choose another file");
    }
    if (status.st_size == 0) {
      first_line_ = report::to_json_line(settings);
      return;
    }
    report::Sweep sweep = report::parse_sweep(read_text_file(path), path.string());
    if (const auto differs = report::difference(sweep.settings, settings)) {
      throw Error(ErrorCode::invalid_argument, "--out",
                  "name a new file or one of the same settings",
                  fmt::format("'{}', whose settings differ ({})", path.string(), *differs),
                  "choose another file, or repeat the earlier command");
    }
    if (::ftruncate(file_, static_cast<off_t>(sweep.whole_bytes)) != 0) {
      fail(path, "be writable", "choose another file");
    }
    earlier_ = std::move(sweep.records);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SweepFile::~SweepFile() {
  ::close(file_);
}

void SweepFile::append(const report::SweepRecord& record) {
  write(std::exchange(first_line_, {}) + report::to_json_line(record));
}

void SweepFile::write(const std::string& line) {
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(file_, line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path_, "take another line", "free some space and repeat the command");
    at += static_cast<std::size_t>(written);
  }
}

}  // namespace tessera::cli
