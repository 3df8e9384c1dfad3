// The operands that a run works on: read from files or random, with their results' places.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/matrix.hpp"
#include "cli/options.hpp"

namespace tessera::cli {

struct Product {
  Matrix a;  // as stored: transposed where the view is
  Matrix b;
  Matrix c;
  Matrix c_before;  // empty where beta is 0
  bool transpose_a = false;
  bool transpose_b = false;
  std::optional<std::filesystem::path> out;

  Operands operands();
  // Puts C back to what it was, so that a product can be run again.
  void restore_c();
};

struct Workload {
  std::vector<Product> products;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;

  std::vector<Operands> operands();
  Problem problem();
};

struct WorkloadOptions {
  ProblemOptions problem;
  std::string a;
  std::string b;
  std::string c;  // what C is before, for beta ≠ 0
  std::string out;
  std::uint64_t seed = 0;
};

// Random operands for a problem, stored without gaps as its layouts say.
Workload random_workload(const Problem& problem, std::uint64_t seed);

// Checks names and places of outputs before it reads anything.
Workload make_workload(const WorkloadOptions& options);

}  // namespace tessera::cli
