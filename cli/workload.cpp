#include "cli/workload.hpp"

#include <fmt/format.h>

#include <cstring>

#include "cli/atomic_file.hpp"
#include "cli/file_products.hpp"
#include "cli/npy.hpp"
#include "cli/random.hpp"
#include "core/invalid_argument.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

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
    fail_argument("operands", "be given once", sources > 1 ? "several ways" : "not completely",
                  "give --a and --b, or a shape such as 1536x1792x6016, or --group");
  }
  if (!options.c.empty() && (options.problem.beta == 0 || !from_files)) {
    fail_argument("--c", "come with --a, --b and a --beta that is not 0", options.c,
                  "leave --c out, or add --beta 1");
  }
  if (!options.bias_axis.empty()) {
    if (options.bias.empty()) {
      fail_argument("--bias-axis", "come with --bias", options.bias_axis,
                    "leave it out, or add --bias FILE");
    }
    const BiasAxis axis = bias_axis_from_name(options.bias_axis);
    if (axis == BiasAxis::none) {
      fail_argument("--bias-axis", "be row or column", "'none'", "leave out --bias, too");
    }
  }
  if (!options.bias.empty() && !options.problem.group.empty()) {
    fail_argument("--bias", "come with a single product or a batch", options.bias,
                  "run the group's products one by one");
  }
  if (!options.out.empty() && !options.problem.group.empty()) {
    fail_argument("--out", "come with a single product", options.out,
                  "name each result as \"c\" in a group file");
  }
}

}  // namespace

Operands Product::operands() {
  ConstMatrixView a_view = a.view();
  ConstMatrixView b_view = b.view();
  if (transpose_a) a_view = a_view.transposed();
  if (transpose_b) b_view = b_view.transposed();
  ConstVectorView bias_view;
  if (!bias.bytes().empty()) {
    bias_view = {bias.bytes().data(), bias.rows() * bias.cols(), 1, bias.type()};
  }
  return {a_view, b_view, c.view(), bias_view};
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
  Problem problem = describe(operands(), alpha, beta, epilogue);
  if (b_is_packed) problem.b = kPackedLayout;
  return problem;
}

void Workload::write_results() const {
  for (const ResultFile& result : results) {
    if (!result.is_batch) {
      write_npy(result.path, products[result.first].c);
      continue;
    }
    std::vector<const Matrix*> matrices;
    for (std::size_t i = result.first; i < products.size(); ++i) matrices.push_back(&products[i].c);
    write_npy_stack(result.path, matrices);
  }
}

Workload random_workload(const Problem& problem, std::uint64_t seed) {
  Workload workload;
  workload.alpha = problem.alpha;
  workload.beta = problem.beta;
  workload.epilogue = problem.epilogue;
  workload.b_is_packed = problem.b.major == Major::packed;
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
  bool is_batch = false;
  if (!options.a.empty()) {
    FileProducts read = products_from_files({options.a, options.b, std::nullopt}, options, seed);
    workload.products = std::move(read.products);
    is_batch = read.is_batch;
  } else if (is_group_file(problem.group)) {
    const std::vector<ProductFiles> list = read_group_file(problem.group);
    for (const ProductFiles& files : list) {
      if (files.c) check_writable(*files.c);
    }
    for (const ProductFiles& files : list) {
      if (files.c) workload.results.push_back({*files.c, workload.products.size()});
      workload.products.push_back(product_from_group(files, options, seed));
      seed += kSeedsPerProduct;
    }
  } else {
    workload = random_workload(problem_from(problem), seed);
  }
  workload.b_is_packed = layouts_from(problem.trans).b == Major::packed;
  if (!options.out.empty()) workload.results.push_back({options.out, 0, is_batch});
  if (!options.bias.empty()) add_bias(workload, options);
  return workload;
}

}  // namespace tessera::cli
