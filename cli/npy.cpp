#include "cli/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/npy_format.hpp"
#include "cli/npy_header.hpp"
#include "tessera/error.hpp"

static_assert(std::endian::native == std::endian::little, "files are stored as memory is laid out");

namespace tessera::cli {
namespace {

// NumPy itself refuses longer headers unless told to trust the file.
constexpr std::size_t kMaxHeader = 10000;
// A file of empty matrices could promise any number of them.
constexpr std::int64_t kMaxStack = std::int64_t{1} << 20;

ElementType stored_type(const std::string& descr, Uint16 uint16, const NpyComplaint& complain) {
  const std::string_view known =
      "float16, float32, float64, int8, uint8, int32, or bfloat16 as uint16";
  if (descr.size() == 3 && descr[0] == '>' && descr[2] != '1') {
    complain("be stored in little-endian order", printable(descr),
             "convert it with array.astype(array.dtype.newbyteorder('<'))");
  }
  for (const StoredType& row : kStoredTypes) {
    if (descr.size() != 3 || descr.substr(1) != row.descr ||
        std::string_view("<=|>").find(descr[0]) == std::string_view::npos) {
      continue;
    }
    if (row.type == ElementType::bf16 && uint16 == Uint16::refuse) {
      complain("hold " + std::string(known), "uint16 without --type bf16",
               "add --type bf16 if these are bfloat16 bit patterns");
    }
    return row.type;
  }
  complain("hold " + std::string(known), "the type " + printable(descr),
           "convert it with array.astype");
}

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in), complain_(name) {
    in_.seekg(0, std::ios::end);
    const auto end = in_.tellg();
    in_.seekg(0);
    if (!in_ || end < 0)
      complain_("be a file that can be read from its start", "something else", "copy it to a disk");
    remaining_ = static_cast<std::uint64_t>(end);
  }

  Matrix matrix(Uint16 uint16) {
    const NpyHeader header = read_header();
    if (header.shape.size() != 2) {
      complain_("hold a matrix, an array of two dimensions", dimensions_of(header),
                "reshape it, a vector to (1, n) or (n, 1)");
    }
    return data(header, uint16);
  }

  MatrixStack stack(Uint16 uint16) {
    const NpyHeader header = read_header();
    const std::size_t dimensions = header.shape.size();
    if (dimensions != 2 && dimensions != 3) {
      complain_("hold a matrix or a batch of them, an array of two or three dimensions",
                dimensions_of(header), "reshape it, a vector to (1, n) or (n, 1)");
    }
    MatrixStack stack;
    stack.is_batch = dimensions == 3;
    if (!stack.is_batch) {
      stack.matrices.push_back(data(header, uint16));
      return stack;
    }
    const std::int64_t count = header.shape[0];
    if (count < 1 || count > kMaxStack) {
      complain_(fmt::format("hold a batch of 1 to {} matrices", kMaxStack),
                fmt::format("{}", count), "leave the product out, or split the batch");
    }
    if (header.fortran_order) {
      complain_("hold a batch in C order", "Fortran order",
                "store it with numpy.save(file, numpy.ascontiguousarray(array))");
    }
    const Matrix all = data(header, uint16);
    const std::int64_t rows = header.shape[1];
    for (std::int64_t i = 0; i < count; ++i) stack.matrices.push_back(all.part(i * rows, rows));
    return stack;
  }

  NpyVector vector(Uint16 uint16) {
    const NpyHeader header = read_header();
    const std::vector<std::int64_t>& shape = header.shape;
    const bool is_vector =
        shape.size() == 1 || (shape.size() == 2 && (shape[0] == 1 || shape[1] == 1));
    if (!is_vector) {
      complain_("hold a vector, of shape (n), (1, n) or (n, 1)",
                fmt::format("shape ({})", fmt::join(shape, ", ")),
                "choose one row or column of it");
    }
    return {data(header, uint16), shape.size() == 1};
  }

 private:
  static std::string dimensions_of(const NpyHeader& header) {
    return fmt::format("{} dimensions", header.shape.size());
  }

  // Of all elements. Refused where the sizes other than zero alone make more than can be counted,
  // as NumPy refuses them: a row of an empty matrix has a length, too.
  std::int64_t bytes_of(const NpyHeader& header, ElementType type) const {
    std::int64_t bytes = size_of(type);
    bool is_empty = false;
    for (const std::int64_t size : header.shape) {
      is_empty = is_empty || size == 0;
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) {
        complain_("have sizes that can be counted in bytes",
                  fmt::format("{} elements of {}", fmt::join(header.shape, "x"), name_of(type)),
                  "store it again: its header is damaged");
      }
    }
    return is_empty ? 0 : bytes;
  }

  // The elements as a matrix with the last dimension along its rows.
  Matrix data(const NpyHeader& header, Uint16 uint16) {
    const ElementType type = stored_type(header.descr, uint16, complain_);
    const std::int64_t bytes = bytes_of(header, type);
    if (static_cast<std::uint64_t>(bytes) != remaining_) {
      complain_(fmt::format("hold the {} elements of {} that its header promises",
                            fmt::join(header.shape, "x"), name_of(type)),
                fmt::format("{} bytes of data", remaining_),
                "store it again: it is truncated, or something was appended");
    }
    const std::int64_t cols = header.shape.back();
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < header.shape.size(); ++i) rows *= header.shape[i];
    Matrix matrix(rows, cols, type, header.fortran_order ? Major::column : Major::row);
    constexpr std::size_t kReadPiece = std::size_t{16} << 20;
    for (std::span<std::byte> rest = matrix.bytes(); !rest.empty();) {
      throw_if_interrupted();
      const std::span<std::byte> piece = rest.first(std::min(rest.size(), kReadPiece));
      take(reinterpret_cast<char*>(piece.data()), piece.size());
      rest = rest.subspan(piece.size());
    }
    return matrix;
  }

  void take(char* to, std::size_t count) {
    if (count > remaining_ || !in_.read(to, static_cast<std::streamsize>(count))) {
      complain_("be complete", "a file that ends early", "store it again");
    }
    remaining_ -= count;
  }

  NpyHeader read_header() {
    std::array<unsigned char, 8> start{};
    if (remaining_ < start.size()) complain_.foreign(fmt::format("a file of {} bytes", remaining_));
    take(reinterpret_cast<char*>(start.data()), start.size());
    if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
      complain_.foreign("a file that does not start as one");
    }
    const int version = start[6];
    if (version < 1 || version > 3) {
      complain_("be of .npy format version 1, 2 or 3", fmt::format("version {}", version),
                "store it with numpy.save");
    }
    std::array<unsigned char, 4> size_bytes{};
    take(reinterpret_cast<char*>(size_bytes.data()), version == 1 ? 2 : 4);
    std::size_t size = 0;
    for (std::size_t i = size_bytes.size(); i-- > 0;) size = size << 8 | size_bytes[i];
    if (size > kMaxHeader) {
      complain_(fmt::format("have a header of at most {} bytes", kMaxHeader),
                fmt::format("{}", size), "store the matrix with numpy.save");
    }
    std::string text(size, '\0');
    take(text.data(), size);
    return parse_npy_header(text, complain_);
  }

  std::istream& in_;
  NpyComplaint complain_;
  std::uint64_t remaining_ = 0;
};

std::ifstream open_npy(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const NpyComplaint complain(name);
  if (status.type() != std::filesystem::file_type::regular) {
    complain("be an existing file", error ? error.message() : "something that is no ordinary file",
             "check the path");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) complain("be readable", "a file that cannot be opened", "check its permissions");
  return in;
}

}  // namespace

Matrix read_npy(std::istream& in, const std::string& name, Uint16 uint16) {
  return Reader(in, name).matrix(uint16);
}

Matrix read_npy(const std::filesystem::path& path, Uint16 uint16) {
  std::ifstream in = open_npy(path);
  return read_npy(in, path.string(), uint16);
}

MatrixStack read_npy_stack(std::istream& in, const std::string& name, Uint16 uint16) {
  return Reader(in, name).stack(uint16);
}

MatrixStack read_npy_stack(const std::filesystem::path& path, Uint16 uint16) {
  std::ifstream in = open_npy(path);
  return read_npy_stack(in, path.string(), uint16);
}

NpyVector read_npy_vector(const std::filesystem::path& path, Uint16 uint16) {
  std::ifstream in = open_npy(path);
  const std::string name = path.string();
  return Reader(in, name).vector(uint16);
}

}  // namespace tessera::cli
