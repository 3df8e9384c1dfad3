// `tessera make`: writes a random matrix as a .npy file, to have something to multiply.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/atomic_file.hpp"
#include "cli/npy.hpp"
#include "cli/options.hpp"
#include "cli/random.hpp"
#include "cli/shape.hpp"
#include "cli/verbs.hpp"

namespace tessera::cli {
namespace {

struct MakeRequest {
  std::string size;
  std::string file;
  std::string type = "f32";
  std::uint64_t seed = 0;
  bool fortran = false;
  bool json = false;
};

int run_make(const MakeRequest& options) {
  const MatrixSize size = parse_matrix_size(options.size, "size");
  check_writable(options.file);
  Matrix matrix(size.rows, size.cols, element_type_from_name(options.type),
                options.fortran ? Major::column : Major::row);
  fill_random(matrix, options.seed);
  write_npy(options.file, matrix);
  if (options.json) {
    const nlohmann::json made = {{"file", options.file},
                                 {"rows", size.rows},
                                 {"cols", size.cols},
                                 {"type", options.type},
                                 {"fortran_order", options.fortran},
                                 {"seed", options.seed}};
    std::puts(made.dump(2).c_str());
  } else {
    fmt::print("{}: {}x{} of {}, {:.1f} MB\n", options.file, size.rows, size.cols, options.type,
               static_cast<double>(matrix.bytes().size()) * 1e-6);
  }
  return 0;
}

}  // namespace

Verb add_make_verb(CLI::App& app) {
  const auto options = std::make_shared<MakeRequest>();
  CLI::App* const verb = app.add_subcommand("make", "Write a random matrix to a .npy file");
  verb->add_option("size", options->size, "Rows and columns")->type_name("ROWSxCOLS")->required();
  verb->add_option("file", options->file, "The .npy file")->type_name("FILE")->required();
  verb->add_option("--type", options->type,
                   "Element type: f64, f32, f16, bf16 (stored as uint16), i8, u8, i32")
      ->type_name("TYPE")
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed; the same gives the same matrix")
      ->transform(seed_number())
      ->capture_default_str();
  verb->add_flag("--fortran", options->fortran, "Store by columns");
  verb->add_flag("--json", options->json, "Print what was written as JSON");
  return {verb, [options] { return run_make(*options); }};
}

}  // namespace tessera::cli
