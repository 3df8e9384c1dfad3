#include "ragged.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "core/invalid_argument.hpp"
#include "core/validate.hpp"
#include "core/view_rules.hpp"
#include "ragged_sizes.hpp"
#include "ragged_views.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

void require_equal(const char* argument, const char* what, std::int64_t wanted, std::int64_t given,
                   const char* remedy) {
  if (given == wanted) return;
  fail_argument(argument, std::string("have ") + what + ", " + std::to_string(wanted),
                std::to_string(given), remedy);
}

// ---- What holds for views of every size ----

void check_group_count(const char* argument, std::int64_t wanted, std::int64_t given) {
  require_equal(argument, "one matrix per group", wanted, given,
                "pass as many matrices as there are groups");
}

void check_bias(const ConstMatrixView& bias, BiasAxis axis, std::int64_t groups,
                const GemmShape& shape, bool has_rows_of_its_own) {
  if (axis == BiasAxis::none) return;
  if (axis == BiasAxis::row && !has_rows_of_its_own) {
    fail_argument("epilogue.bias", "be none or column where the rows are ragged", "row",
                  "add a value per row of C with beta, or to C afterwards");
  }
  require_equal("bias", "one row per group", groups, bias.rows, "pass a bias for each group");
  require_equal("bias", "one column per value", axis == BiasAxis::row ? shape.m : shape.n,
                bias.cols, "pass biases of that length");
  // A row stride of 0 is one bias for all groups.
  check_repeated("bias", {bias.data, bias.cols, 1, bias.col_stride, 1, bias.type}, groups,
                 bias.row_stride);
}

void check_batch(const char* argument, const ConstBatchView& batch) {
  check_repeated(argument, first_matrix_of(batch), batch.groups, batch.group_stride);
}

void check_products(const ConstBatchView& a, const ConstBatchView& b, const BatchView& c) {
  check_group_count("A", b.groups, a.groups);
  check_group_count("C", b.groups, c.groups);
  check_batch("A", a);
  check_batch("B", b);
  check_batch("C", c);
}

// ---- One function per door ----

void check(const RaggedRows& rows, BiasAxis bias) {
  require_equal("A", "as many rows as C", rows.c.rows, rows.a.rows,
                "pass both for all groups together");
  check_divided("A", rows.a);
  check_batch("B", rows.b);
  check_divided("C", rows.c);
  check_bias(rows.bias, bias, rows.b.groups, {0, rows.c.cols, 0}, false);
}

std::vector<Operands> list(const RaggedRows& rows, const IndexArray& offsets, BiasAxis bias) {
  check(rows, bias);
  const std::int64_t groups = rows.b.groups;
  const GroupSizes sizes = read_segments(SizeSource::row_segments, offsets, groups,
                                         {rows.c.rows, rows.c.cols, rows.a.cols});
  std::vector<Operands> products;
  products.reserve(static_cast<std::size_t>(groups));
  for (std::int64_t group = 0; group < groups; ++group) {
    const GroupSlice slice = sizes.slice(group);
    products.push_back({rows_of(rows.a, slice.begin, slice.m), matrix_of(rows.b, group),
                        rows_of(rows.c, slice.begin, slice.m), bias_of(rows.bias, bias, group)});
  }
  return products;
}

void check(const MaskedRows& masked, BiasAxis bias) {
  check_products(masked.a, masked.b, masked.c);
  require_equal("A", "as many rows in each group as C", masked.c.rows, masked.a.rows,
                "pass both with the same capacity");
  check_bias(masked.bias, bias, masked.c.groups, {0, masked.c.cols, 0}, false);
}

std::vector<Operands> list(const MaskedRows& masked, const IndexArray& counts, BiasAxis bias) {
  check(masked, bias);
  const GroupSizes sizes =
      read_counts(counts, masked.c.groups, {masked.c.rows, masked.c.cols, masked.a.cols});
  std::vector<Operands> products;
  products.reserve(static_cast<std::size_t>(sizes.groups));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const std::int64_t count = sizes.slice(group).m;
    products.push_back({rows_of(matrix_of(masked.a, group), 0, count), matrix_of(masked.b, group),
                        rows_of(matrix_of(masked.c, group), 0, count),
                        bias_of(masked.bias, bias, group)});
  }
  return products;
}

void check(const RaggedK& depth, BiasAxis bias) {
  require_equal("B", "as many rows as A has columns", depth.a.cols, depth.b.rows,
                "pass both for all groups together");
  check_divided("A", depth.a);
  check_divided("B", depth.b);
  check_batch("C", depth.c);
  check_bias(depth.bias, bias, depth.c.groups, {depth.c.rows, depth.c.cols, 0}, true);
}

std::vector<Operands> list(const RaggedK& depth, const IndexArray& offsets, BiasAxis bias) {
  check(depth, bias);
  const std::int64_t groups = depth.c.groups;
  const GroupSizes sizes = read_segments(SizeSource::depth_segments, offsets, groups,
                                         {depth.c.rows, depth.c.cols, depth.a.cols});
  std::vector<Operands> products;
  products.reserve(static_cast<std::size_t>(groups));
  for (std::int64_t group = 0; group < groups; ++group) {
    const GroupSlice slice = sizes.slice(group);
    const ConstMatrixView columns = rows_of(depth.a.transposed(), slice.begin, slice.k);
    products.push_back({columns.transposed(), rows_of(depth.b, slice.begin, slice.k),
                        matrix_of(depth.c, group), bias_of(depth.bias, bias, group)});
  }
  return products;
}

void check(const StridedBatch& batch, BiasAxis bias) {
  check_products(batch.a, batch.b, batch.c);
  check_bias(batch.bias, bias, batch.c.groups, {batch.c.rows, batch.c.cols, 0}, true);
}

std::vector<Operands> list(const StridedBatch& batch, BiasAxis bias) {
  check(batch, bias);
  std::vector<Operands> products;
  products.reserve(static_cast<std::size_t>(std::max<std::int64_t>(0, batch.c.groups)));
  for (std::int64_t group = 0; group < batch.c.groups; ++group) {
    products.push_back({matrix_of(batch.a, group), matrix_of(batch.b, group),
                        matrix_of(batch.c, group), bias_of(batch.bias, bias, group)});
  }
  return products;
}

template <class Data>
auto view_of(Data* data, std::int64_t rows, std::int64_t cols, Major major, std::int64_t leading,
             ElementType type) {
  using View = std::conditional_t<std::is_const_v<Data>, ConstMatrixView, MatrixView>;
  return major == Major::row ? View{data, rows, cols, leading, 1, type}
                             : View{data, rows, cols, 1, leading, type};
}

void check_majors(const PointerArray& array) {
  for (const Major major : {array.a_major, array.b_major, array.c_major}) {
    if (major != Major::row && major != Major::column) {
      fail_argument("major", "be row or column", std::string(name_of(major)),
                    "pass a leading dimension for one of the two");
    }
  }
}

void check_pointers(const PointerArray& array, BiasAxis bias) {
  const bool has_pointers = array.a != nullptr && array.b != nullptr && array.c != nullptr &&
                            (bias == BiasAxis::none || array.bias != nullptr);
  if (array.groups > 0 && !has_pointers) {
    fail_argument("a, b, c and bias", "point to " + std::to_string(array.groups) + " pointers",
                  "a null pointer", "pass an array of pointers for each operand in use");
  }
}

void check(const PointerArray& array, BiasAxis bias) {
  check_majors(array);
  check_pointers(array, bias);
}

std::vector<Operands> list(const PointerArray& array, BiasAxis bias) {
  check_majors(array);
  const GroupSizes sizes = read_sizes(array);
  check_pointers(array, bias);
  const IndexList lda = list_of(array.lda);
  const IndexList ldb = list_of(array.ldb);
  const IndexList ldc = list_of(array.ldc);
  std::vector<Operands> products;
  products.reserve(static_cast<std::size_t>(sizes.groups));
  for (std::int32_t group = 0; group < sizes.groups; ++group) {
    const GroupSlice size = sizes.slice(group);
    Operands product{
        view_of(array.a[group], size.m, size.k, array.a_major, lda[group], array.types.a),
        view_of(array.b[group], size.k, size.n, array.b_major, ldb[group], array.types.b),
        view_of(array.c[group], size.m, size.n, array.c_major, ldc[group], array.types.c)};
    if (bias != BiasAxis::none) {
      product.bias = {array.bias[group], bias == BiasAxis::row ? size.m : size.n, 1, array.types.c};
    }
    products.push_back(product);
  }
  return products;
}

void check_groups(std::int64_t groups) {
  if (groups >= 0 && groups < std::numeric_limits<std::int32_t>::max()) return;
  fail_argument("groups", "number from 0 to 2147483646", std::to_string(groups),
                "pass their true number");
}

std::int64_t group_count(const RaggedProducts& products) {
  struct Count {
    std::int64_t operator()(const RaggedRows& rows) const { return rows.b.groups; }
    std::int64_t operator()(const MaskedRows& masked) const { return masked.c.groups; }
    std::int64_t operator()(const RaggedK& depth) const { return depth.c.groups; }
    std::int64_t operator()(const PointerArray& array) const { return array.groups; }
    std::int64_t operator()(const StridedBatch& batch) const { return batch.c.groups; }
  };
  return std::visit(Count{}, products);
}

}  // namespace

void check_views(const RaggedProducts& products, BiasAxis bias) {
  check_groups(group_count(products));
  std::visit([&](const auto& door) { check(door, bias); }, products);
}

std::vector<Operands> products_of(const RaggedProducts& products, const Epilogue& epilogue) {
  struct List {
    BiasAxis bias;
    auto operator()(const RaggedRows& rows) const { return list(rows, rows.offsets, bias); }
    auto operator()(const MaskedRows& masked) const { return list(masked, masked.counts, bias); }
    auto operator()(const RaggedK& depth) const { return list(depth, depth.offsets, bias); }
    auto operator()(const PointerArray& array) const { return list(array, bias); }
    auto operator()(const StridedBatch& batch) const { return list(batch, bias); }
  };
  check_groups(group_count(products));
  return std::visit(List{epilogue.bias}, products);
}

Problem expected_problem(const RaggedProducts& products, double alpha, double beta,
                         const Epilogue& epilogue) {
  struct Pose {
    double alpha;
    double beta;
    Epilogue epilogue;

    Problem of(const std::vector<Operands>& even) const {
      return describe(even, alpha, beta, epilogue);
    }
    Problem operator()(const RaggedRows& rows) const {
      const auto offsets = even_offsets(rows.c.rows, rows.b.groups);
      return of(list(rows, index_array(offsets), epilogue.bias));
    }
    Problem operator()(const MaskedRows& masked) const {
      const std::vector<std::int64_t> counts(static_cast<std::size_t>(masked.c.groups),
                                             masked.c.rows);
      return of(list(masked, index_array(counts), epilogue.bias));
    }
    Problem operator()(const RaggedK& depth) const {
      const auto offsets = even_offsets(depth.a.cols, depth.c.groups);
      return of(list(depth, index_array(offsets), epilogue.bias));
    }
    Problem operator()(const StridedBatch& batch) const { return of(list(batch, epilogue.bias)); }
    // Its matrices may lie anywhere.
    Problem operator()(const PointerArray& array) const {
      check_majors(array);
      const GemmShape& bound = array.bound;
      if (std::max({bound.m, bound.n, bound.k}) == kUnbounded) {
        fail_argument(
            "bound", "say how large a product can be, to plan for it", "none",
            "set PointerArray::bound, or call ragged_gemm, which plans for the sizes it finds");
      }
      Problem problem{array.types, {}, {}, {}, {}, alpha, beta, epilogue};
      problem.groups.assign(static_cast<std::size_t>(array.groups), bound);
      problem.a = {array.a_major, size_of(array.types.a)};
      problem.b = {array.b_major, size_of(array.types.b)};
      problem.c = {array.c_major, size_of(array.types.c)};
      check_problem(problem);
      return problem;
    }
  };
  check_groups(group_count(products));
  return std::visit(Pose{alpha, beta, epilogue}, products);
}

std::vector<GemmShape> worst_shapes_of(const RaggedProducts& products, const Problem& expected) {
  std::vector<GemmShape> shapes = expected.groups;
  if (!std::holds_alternative<RaggedRows>(products) || shapes.empty()) return shapes;
  // A row each, and all others to one group: no tile but the last of a group is full for naught.
  std::int64_t left = std::get<RaggedRows>(products).c.rows;
  for (GemmShape& shape : shapes) {
    shape.m = std::min<std::int64_t>(1, left);
    left -= shape.m;
  }
  shapes.front().m += left;
  return shapes;
}

void check_sizes_fit(const RaggedProducts& products, const Problem& planned, const Problem& given) {
  if (given.groups.size() != planned.groups.size()) {
    fail_argument("groups", "number " + std::to_string(planned.groups.size()) + ", as in the plan",
                  std::to_string(given.groups.size()), "plan again for this many");
  }
  if (given.groups.empty()) return;
  if (given.types != planned.types) {
    fail_argument("types", "be those of the plan", "others", "plan again for these types");
  }
  const bool is_array = std::holds_alternative<PointerArray>(products);
  const bool any_m = is_array || std::holds_alternative<RaggedRows>(products) ||
                     std::holds_alternative<MaskedRows>(products);
  const bool any_k = is_array || std::holds_alternative<RaggedK>(products);
  for (std::size_t group = 0; group < given.groups.size(); ++group) {
    const GemmShape& want = planned.groups[group];
    const GemmShape& have = given.groups[group];
    const bool fits = (any_m || have.m == want.m) && (is_array || have.n == want.n) &&
                      (any_k || have.k == want.k);
    if (fits) continue;
    fail_argument(
        "operands of group " + std::to_string(group),
        "have the sizes that are the same for every group as planned, " + shape_text(want),
        shape_text(have), "plan again for this size");
  }
}

}  // namespace tessera
