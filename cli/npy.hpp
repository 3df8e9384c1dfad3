// Reads and writes NumPy's .npy files (format versions 1 to 3), two-dimensional, in C or Fortran
// order. Files are untrusted: whatever they hold, reading one either succeeds or throws
// tessera::Error, and allocates no more than the file is long.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "cli/matrix.hpp"

namespace tessera::cli {

// .npy has no bfloat16; such matrices are stored as uint16, which nothing else here uses.
enum class Uint16 { refuse, is_bf16 };

// f16, f32, f64, i8, u8 and i32 become the element types of the same name. Throws Error(io) that
// names the file, the rule it breaks and what was found.
Matrix read_npy(const std::filesystem::path& path, Uint16 uint16 = Uint16::refuse);

// The same from a seekable stream; `name` stands for the file in messages.
Matrix read_npy(std::istream& in, const std::string& name, Uint16 uint16 = Uint16::refuse);

// Writes a matrix in its own order; bf16 is stored as uint16. The file appears when it is complete.
void write_npy(const std::filesystem::path& path, const Matrix& matrix);

}  // namespace tessera::cli
