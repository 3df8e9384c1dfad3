// The operands that a run works on: read from files or random, with their results' places.
#pragma once

#include <cstdint>
#include <filesystem>
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
  Matrix bias;      // one row of what the epilogue adds; empty without a bias
  bool transpose_a = false;
  bool transpose_b = false;

  Operands operands();
  // Puts C back to what it was, so that a product can be run again.
  void restore_c();
};

// A file for the results of one product, or of a batch of them from `first` on.
struct ResultFile {
  std::filesystem::path path;
  std::size_t first = 0;
  bool is_batch = false;  // all further products, as an array of three dimensions
};

struct Workload {
  std::vector<Product> products;
  std::vector<ResultFile> results;
  double alpha = 1;
  double beta = 0;
  Epilogue epilogue;
  bool b_is_packed = false;  // problem() says so; whoever runs it packs B

  std::vector<Operands> operands();
  Problem problem();
  // Each file complete or not at all.
  void write_results() const;
};

struct WorkloadOptions {
  ProblemOptions problem;
  std::string a;
  std::string b;
  std::string c;  // what C is before, for beta ≠ 0
  std::string bias;
  std::string bias_axis;  // "row", "column", or empty: as the file's shape says
  std::string out;
  std::uint64_t seed = 0;
};

// Random operands for a problem, stored without gaps as its layouts say.
Workload random_workload(const Problem& problem, std::uint64_t seed);

// Checks names and places of outputs before it reads anything.
Workload make_workload(const WorkloadOptions& options);

}  // namespace tessera::cli
