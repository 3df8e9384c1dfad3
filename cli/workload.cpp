#include "cli/workload.hpp"

#include <fmt/format.h>

#include <cstring>

#include "cli/atomic_file.hpp"
#include "cli/group_file.hpp"
#include "cli/npy.hpp"
#include "cli/random.hpp"
#include "cli/shape.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

// A, B and C each have a seed of their own.
constexpr std::uint64_t kSeedsPerProduct = 3;

[[noreturn]] void fail(const std::string& argument, const std::string& requirement,
                       const std::string& given, const std::string& remedy) {
  throw Error(ErrorCode::invalid_argument, argument, requirement, given, remedy);
}

Uint16 uint16_of(const ProblemOptions& options) {
  return options.type == "bf16" ? Uint16::is_bf16 : Uint16::refuse;
}

std::string size_text(const ConstMatrixView& view) {
  return fmt::format("{}x{}", view.rows, view.cols);
}

// Reads A or B and checks it against --type.
Matrix read_operand(const std::filesystem::path& path, ElementType GemmTypes::*which,
                    const ProblemOptions& options) {
  Matrix matrix = read_npy(path, uint16_of(options));
  if (!options.type.empty() && matrix.type() != types_from(options).*which) {
    fail("file '" + path.string() + "'",
         fmt::format("hold {}, as --type {} says", name_of(types_from(options).*which),
                     options.type),
         std::string(name_of(matrix.type())), "leave --type out or convert the file");
  }
  return matrix;
}

// C and what it was before: from a file, or random.
void add_c(Product& product, const ProblemOptions& options, const std::string& initial,
           std::uint64_t seed) {
  const Operands shaped = product.operands();
  const std::int64_t rows = shaped.a.rows;
  const std::int64_t cols = shaped.b.cols;
  const ElementType type = options.out_type.empty() ? gemm_types_for(product.a.type()).c
                                                    : element_type_from_name(options.out_type);
  product.c = Matrix(rows, cols, type);
  if (options.beta == 0) return;
  if (initial.empty()) {
    product.c_before = Matrix(rows, cols, type);
    fill_random(product.c_before, seed);
  } else {
    product.c_before = read_npy(std::filesystem::path(initial),
                                type == ElementType::bf16 ? Uint16::is_bf16 : Uint16::refuse);
    const Matrix& given = product.c_before;
    if (given.rows() != rows || given.cols() != cols || given.type() != type) {
      fail("file '" + initial + "'", fmt::format("hold C, {}x{} of {}", rows, cols, name_of(type)),
           fmt::format("{} of {}", size_text(given.view()), name_of(given.type())),
           "give a C of that size and type, or leave --beta out");
    }
    product.c = Matrix(rows, cols, type, given.major());
  }
  product.restore_c();
}

Product product_from_files(const ProductFiles& files, const WorkloadOptions& options,
                           std::uint64_t seed) {
  Product product;
  const StoredLayouts layouts = layouts_from(options.problem);
  product.transpose_a = layouts.a == Major::column;
  product.transpose_b = layouts.b == Major::column;
  product.a = read_operand(files.a, &GemmTypes::a, options.problem);
  product.b = read_operand(files.b, &GemmTypes::b, options.problem);
  product.out = files.c;
  const Operands shaped = product.operands();
  if (shaped.a.cols != shaped.b.rows) {
    fail("file '" + files.b.string() + "'",
         fmt::format("hold a matrix of {} rows, as A is {}", shaped.a.cols, size_text(shaped.a)),
         size_text(shaped.b), "check the files, or say with --trans which is stored transposed");
  }
  add_c(product, options.problem, options.c, seed + 2);
  return product;
}

Product random_product(const GemmShape& shape, const Problem& problem, std::uint64_t seed) {
  Product product;
  const GemmTypes& types = problem.types;
  product.transpose_a = problem.a.major == Major::column;
  product.transpose_b = problem.b.major == Major::column;
  product.a =
      product.transpose_a ? Matrix(shape.k, shape.m, types.a) : Matrix(shape.m, shape.k, types.a);
  product.b =
      product.transpose_b ? Matrix(shape.n, shape.k, types.b) : Matrix(shape.k, shape.n, types.b);
  product.c = Matrix(shape.m, shape.n, types.c);
  fill_random(product.a, seed);
  fill_random(product.b, seed + 1);
  if (problem.beta != 0) {
    product.c_before = Matrix(shape.m, shape.n, types.c);
    fill_random(product.c_before, seed + 2);
    product.restore_c();
  }
  return product;
}

void check_sources(const WorkloadOptions& options) {
  const bool from_files = !options.a.empty() || !options.b.empty();
  const int sources = (from_files ? 1 : 0) + (options.problem.shape.empty() ? 0 : 1) +
                      (options.problem.group.empty() ? 0 : 1);
  if (sources != 1 || (from_files && (options.a.empty() || options.b.empty()))) {
    fail("operands", "be given once", sources > 1 ? "several ways" : "not completely",
         "give --a and --b, or a shape such as 1536x1792x6016, or --group");
  }
  if (!options.c.empty() && (options.problem.beta == 0 || !from_files)) {
    fail("--c", "come with --a, --b and a --beta that is not 0", options.c,
         "leave --c out, or add --beta 1");
  }
  if (!options.out.empty() && !options.problem.group.empty()) {
    fail("--out", "come with a single product", options.out,
         "name each result as \"c\" in a group file");
  }
}

}  // namespace

Operands Product::operands() {
  ConstMatrixView a_view = a.view();
  ConstMatrixView b_view = b.view();
  if (transpose_a) a_view = a_view.transposed();
  if (transpose_b) b_view = b_view.transposed();
  return {a_view, b_view, c.view()};
}

void Product::restore_c() {
  if (!c_before.bytes().empty()) {
    std::memcpy(c.bytes().data(), c_before.bytes().data(), c.bytes().size());
  }
}

std::vector<Operands> Workload::operands() {
  std::vector<Operands> all;
  for (Product& product : products) all.push_back(product.operands());
  return all;
}

Problem Workload::problem() {
  return describe(operands(), alpha, beta, epilogue);
}

Workload random_workload(const Problem& problem, std::uint64_t seed) {
  Workload workload;
  workload.alpha = problem.alpha;
  workload.beta = problem.beta;
  workload.epilogue = problem.epilogue;
  for (const GemmShape& shape : problem.groups) {
    workload.products.push_back(random_product(shape, problem, seed));
    seed += kSeedsPerProduct;
  }
  return workload;
}

Workload make_workload(const WorkloadOptions& options) {
  check_sources(options);
  const ProblemOptions& problem = options.problem;
  Workload workload;
  workload.alpha = problem.alpha;
  workload.beta = problem.beta;
  workload.epilogue = epilogue_from(problem);
  if (!options.out.empty()) check_writable(options.out);

  std::uint64_t seed = options.seed;
  if (!options.a.empty()) {
    workload.products.push_back(
        product_from_files({options.a, options.b, std::nullopt}, options, seed));
  } else if (is_group_file(problem.group)) {
    const std::vector<ProductFiles> list = read_group_file(problem.group);
    for (const ProductFiles& files : list) {
      if (files.c) check_writable(*files.c);
    }
    for (const ProductFiles& files : list) {
      workload.products.push_back(product_from_files(files, options, seed));
      seed += kSeedsPerProduct;
    }
  } else {
    workload = random_workload(problem_from(problem), seed);
  }
  if (!options.out.empty()) workload.products.front().out = options.out;
  return workload;
}

}  // namespace tessera::cli
