// A file that appears under its name only when it is complete: bytes go to a temporary file in the
// same directory, which commit() renames. Without commit() the temporary file is removed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace tessera::cli {

class AtomicFile {
 public:
  // Throws Error(io) where the directory cannot be written to, or where the name belongs to
  // something that is no ordinary file.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws Error(io) when the disk is full, Error(interrupted) on Ctrl-C.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path final_path_;
  std::filesystem::path temporary_path_;
  int file_ = -1;
};

// Throws what the constructor would throw, so that a long run does not fail at its end.
void check_writable(const std::filesystem::path& path);

}  // namespace tessera::cli
