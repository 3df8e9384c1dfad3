// The header of a .npy file: a Python dictionary literal of which this reads the part that
// numpy.save writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::cli {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Throws Error(io) about the file of this name.
class NpyComplaint {
 public:
  explicit NpyComplaint(const std::string& name) : name_(name) {}

  [[noreturn]] void operator()(const std::string& requirement, const std::string& given,
                               const std::string& remedy) const {
    throw Error(ErrorCode::io, "file '" + name_ + "'", requirement, given, remedy);
  }
  [[noreturn]] void foreign(const std::string& given) const {
    (*this)("be a NumPy .npy file", given, "store the matrix with numpy.save");
  }

 private:
  const std::string& name_;
};

// What came from a file, fit for a terminal.
std::string printable(std::string_view text);

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
NpyHeader parse_npy_header(std::string_view text, const NpyComplaint& complain);

}  // namespace tessera::cli
