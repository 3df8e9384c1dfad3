// Reads and writes NumPy's .npy files (format versions 1 to 3): matrices in C or Fortran order,
// stacks of matrices and vectors. Files are untrusted: whatever they hold, reading one either
// succeeds or throws tessera::Error, and allocates no more than the file is long.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/matrix.hpp"

namespace tessera::cli {

// .npy has no bfloat16; such matrices are stored as uint16, which nothing else here uses.
enum class Uint16 { refuse, is_bf16 };

// f16, f32, f64, i8, u8 and i32 become the element types of the same name. Throws Error(io) that
// names the file, the rule it breaks and what was found.
Matrix read_npy(const std::filesystem::path& path, Uint16 uint16 = Uint16::refuse);

// The same from a seekable stream; `name` stands for the file in messages.
Matrix read_npy(std::istream& in, const std::string& name, Uint16 uint16 = Uint16::refuse);

// What a file of two dimensions holds, one matrix, or one of three: matrices that follow one
// another in one memory.
struct MatrixStack {
  std::vector<Matrix> matrices;  // at least one
  bool is_batch = false;         // three dimensions, even if the first is 1
};
MatrixStack read_npy_stack(const std::filesystem::path& path, Uint16 uint16 = Uint16::refuse);
MatrixStack read_npy_stack(std::istream& in, const std::string& name,
                           Uint16 uint16 = Uint16::refuse);

// A file of one dimension, which becomes a matrix of one row, or of two with one row or one column.
struct NpyVector {
  Matrix values;
  bool has_one_dimension = false;
};
NpyVector read_npy_vector(const std::filesystem::path& path, Uint16 uint16 = Uint16::refuse);

// Writes a matrix in its own order; bf16 is stored as uint16. The file appears when it is complete.
void write_npy(const std::filesystem::path& path, const Matrix& matrix);
// The same for equally large row-major matrices as an array of three dimensions.
void write_npy_stack(const std::filesystem::path& path, const std::vector<const Matrix*>& matrices);

}  // namespace tessera::cli
