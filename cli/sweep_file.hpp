// The file that a sweep appends to: created with its settings, or continued where it stopped.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/sweep_records.hpp"

namespace tessera::cli {

class SweepFile {
 public:
  // Throws Error(invalid_argument) for a file of other settings, saying what differs; Error(io) for
  // one that is no sweep, that another process is writing, or that cannot be written.
  SweepFile(const std::filesystem::path& path, const report::SweepSettings& settings);
  ~SweepFile();
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;

  // What was there when it was opened. A line that was cut off is gone.
  const std::vector<report::SweepRecord>& earlier() const { return earlier_; }

  // One whole line, in the file when this returns.
  void append(const report::SweepRecord& record);

 private:
  void write(const std::string& line);

  std::filesystem::path path_;
  int file_ = -1;
  // A new file's settings, until there is a result: a command that fails before commits to nothing.
  std::string first_line_;
  std::vector<report::SweepRecord> earlier_;
};

}  // namespace tessera::cli
