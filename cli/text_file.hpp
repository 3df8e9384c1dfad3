// Reads a small text file whole: JSON descriptions and lists of shapes.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::cli {

// Throws Error(io) where the file is missing, no ordinary file, unreadable or above 64 MB.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace tessera::cli
