#include "cli/file_products.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/npy.hpp"
#include "cli/random.hpp"
#include "core/invalid_argument.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

Uint16 uint16_of(const ProblemOptions& options) {
  return options.type == "bf16" ? Uint16::is_bf16 : Uint16::refuse;
}

ElementType type_of_c(const ProblemOptions& options, ElementType a) {
  return options.out_type.empty() ? gemm_types_for(a).c : element_type_from_name(options.out_type);
}

Uint16 uint16_for(ElementType type) {
  return type == ElementType::bf16 ? Uint16::is_bf16 : Uint16::refuse;
}

std::string size_text(const ConstMatrixView& view) {
  return fmt::format("{}x{}", view.rows, view.cols);
}

// Reads A or B and checks it against --type.
MatrixStack read_operand(const std::filesystem::path& path, ElementType GemmTypes::*which,
                         const ProblemOptions& options) {
  MatrixStack stack = read_npy_stack(path, uint16_of(options));
  const ElementType type = stack.matrices.front().type();
  if (!options.type.empty() && type != types_from(options).*which) {
    fail_argument("file '" + path.string() + "'",
                  fmt::format("hold {}, as --type {} says", name_of(types_from(options).*which),
                              options.type),
                  std::string(name_of(type)), "leave --type out or convert the file");
  }
  return stack;
}

// Makes C, and what it was before: from `initial`, or random.
void add_c(Product& product, const ProblemOptions& options, std::optional<Matrix> initial,
           const std::string& initial_file, std::uint64_t seed) {
  const Operands shaped = product.operands();
  const std::int64_t rows = shaped.a.rows;
  const std::int64_t cols = shaped.b.cols;
  const ElementType type = type_of_c(options, product.a.type());
  product.c = Matrix(rows, cols, type);
  if (options.beta == 0) return;
  if (!initial) {
    product.c_before = Matrix(rows, cols, type);
    fill_random(product.c_before, seed);
  } else {
    product.c_before = std::move(*initial);
    const Matrix& given = product.c_before;
    if (given.rows() != rows || given.cols() != cols || given.type() != type) {
      fail_argument("file '" + initial_file + "'",
                    fmt::format("hold C, {}x{} of {}", rows, cols, name_of(type)),
                    fmt::format("{} of {}", size_text(given.view()), name_of(given.type())),
                    "give a C of that size and type, or leave --beta out");
    }
    product.c = Matrix(rows, cols, type, given.major());
  }
  product.restore_c();
}

// As many matrices as there are products; a single one serves them all.
Matrix take(MatrixStack& stack, std::size_t product) {
  if (stack.is_batch) return std::move(stack.matrices[product]);
  const Matrix& shared = stack.matrices.front();
  return shared.part(0, shared.rows());
}

void check_batch(const MatrixStack& stack, std::size_t products, const std::filesystem::path& path,
                 const std::string& remedy) {
  if (stack.is_batch ? stack.matrices.size() == products : products == 1) return;
  fail_argument("file '" + path.string() + "'", fmt::format("hold {} matrices", products),
                stack.is_batch ? fmt::format("{}", stack.matrices.size()) : "one of two dimensions",
                remedy);
}

// The axis that a bias file's shape says, or --bias-axis where that leaves a choice.
BiasAxis axis_of(const NpyVector& bias, const WorkloadOptions& options, const Operands& shaped) {
  const Matrix& values = bias.values;
  const std::int64_t size = values.rows() * values.cols();
  const bool by_flag = !options.bias_axis.empty();
  // A vector stands beside the columns, as NumPy adds it, unless its length fits only the rows.
  BiasAxis axis = size == shaped.b.cols || size != shaped.a.rows ? BiasAxis::column : BiasAxis::row;
  if (!bias.has_one_dimension && size != 1) {
    axis = values.rows() == 1 ? BiasAxis::column : BiasAxis::row;
  }
  if (by_flag) {
    const BiasAxis asked = bias_axis_from_name(options.bias_axis);
    if (asked != axis && !bias.has_one_dimension && size != 1) {
      fail_argument("file '" + options.bias + "'",
                    fmt::format("hold one value per {}, as --bias-axis says", options.bias_axis),
                    fmt::format("a matrix of {}", size_text(values.view())),
                    "transpose it, or leave --bias-axis out");
    }
    axis = asked;
  }
  const std::int64_t needed = axis == BiasAxis::row ? shaped.a.rows : shaped.b.cols;
  if (size != needed) {
    const std::string requirement =
        by_flag || !bias.has_one_dimension
            ? fmt::format("hold {} values, one per {} of C", needed, name_of(axis))
            : fmt::format("hold {} values, one per column of C, or {}, one per row", shaped.b.cols,
                          shaped.a.rows);
    fail_argument("file '" + options.bias + "'", requirement, fmt::format("{}", size),
                  "give a bias of that length");
  }
  return axis;
}

}  // namespace

FileProducts products_from_files(const ProductFiles& files, const WorkloadOptions& options,
                                 std::uint64_t seed) {
  const StoredLayouts layouts = layouts_from(options.problem.trans);
  MatrixStack a = read_operand(files.a, &GemmTypes::a, options.problem);
  MatrixStack b = read_operand(files.b, &GemmTypes::b, options.problem);
  FileProducts result;
  result.is_batch = a.is_batch || b.is_batch;
  const std::size_t count = a.is_batch ? a.matrices.size() : b.matrices.size();
  if (b.is_batch) check_batch(b, count, files.b, "give one B for each A, or one for all");
  std::optional<MatrixStack> initial;
  if (!options.c.empty() && options.problem.beta != 0) {
    initial = read_npy_stack(options.c,
                             uint16_for(type_of_c(options.problem, a.matrices.front().type())));
    if (result.is_batch || initial->is_batch) {
      check_batch(*initial, count, options.c, "give one C for each product");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    Product& product = result.products.emplace_back();
    product.transpose_a = layouts.a == Major::column;
    product.transpose_b = layouts.b == Major::column;
    product.a = take(a, i);
    product.b = take(b, i);
    const Operands shaped = product.operands();
    if (shaped.a.cols != shaped.b.rows) {
      fail_argument(
          "file '" + files.b.string() + "'",
          fmt::format("hold a matrix of {} rows, as A is {}", shaped.a.cols, size_text(shaped.a)),
          size_text(shaped.b), "check the files, or say with --trans which is stored transposed");
    }
    add_c(product, options.problem, initial ? std::optional(take(*initial, i)) : std::nullopt,
          options.c, seed + 2);
    seed += kSeedsPerProduct;
  }
  return result;
}

Product product_from_group(const ProductFiles& files, const WorkloadOptions& options,
                           std::uint64_t seed) {
  FileProducts one = products_from_files(files, options, seed);
  if (one.is_batch) {
    fail_argument("file '" + files.a.string() + "'",
                  "hold a matrix, as each product of a group does", "a batch of them",
                  "list its matrices one by one, or give the batch by --a and --b");
  }
  return std::move(one.products.front());
}
void add_bias(Workload& workload, const WorkloadOptions& options) {
  const Operands shaped = workload.products.front().operands();
  const NpyVector bias = read_npy_vector(options.bias, uint16_for(shaped.c.type));
  const ElementType accumulator = accumulator_of({shaped.a.type, shaped.b.type, shaped.c.type});
  const ElementType type = bias.values.type();
  if (type != shaped.c.type && type != accumulator) {
    fail_argument("file '" + options.bias + "'",
                  type == accumulator || shaped.c.type == accumulator
                      ? fmt::format("hold {}, as C does", name_of(shaped.c.type))
                      : fmt::format("hold {}, as C does, or {}", name_of(shaped.c.type),
                                    name_of(accumulator)),
                  std::string(name_of(type)), "convert it with array.astype");
  }
  workload.epilogue.bias = axis_of(bias, options, shaped);
  for (Product& product : workload.products) {
    product.bias = bias.values.part(0, bias.values.rows());
  }
}
}  // namespace tessera::cli
