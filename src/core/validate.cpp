// The rules for problems and operands, and the messages for those who break them. What a single
// view must fulfil is in view_rules.cpp.
#include "core/validate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/alike.hpp"
#include "core/catalogue.hpp"
#include "core/invalid_argument.hpp"
#include "core/overlap.hpp"
#include "core/view_rules.hpp"
#include "tessera/error.hpp"
#include "tessera/packed.hpp"

namespace tessera {
namespace {

// One dense dimension and the alignment that a copy engine could rely on.
OperandLayout layout_of(const ConstMatrixView& view) {
  OperandLayout layout{Major::general, 128};
  if (view.rows == 0 || view.cols == 0) return {Major::row, 128};
  const bool dense_rows = view.col_stride == 1 || view.cols == 1;
  const bool dense_cols = view.row_stride == 1 || view.rows == 1;
  // Both hold for a single row or column, where the true stride decides.
  if (dense_rows && (!dense_cols || view.col_stride == 1)) {
    layout.major = Major::row;
  } else if (dense_cols) {
    layout.major = Major::column;
  }
  std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(view.data) | 128;
  const auto size = static_cast<std::uintptr_t>(size_of(view.type));
  if (view.rows > 1 && layout.major != Major::column) {
    bits |= static_cast<std::uintptr_t>(view.row_stride) * size;
  }
  if (view.cols > 1 && layout.major != Major::row) {
    bits |= static_cast<std::uintptr_t>(view.col_stride) * size;
  }
  layout.alignment = 1 << std::countr_zero(bits);
  return layout;
}

// What holds for both. One that is packed has no other layout, and a plan for it packs the others.
OperandLayout common(const OperandLayout& p, const OperandLayout& q) {
  if (p.major == Major::packed || q.major == Major::packed) return kPackedLayout;
  return {p.major == q.major ? p.major : Major::general, std::min(p.alignment, q.alignment)};
}

bool fits_i32(double value) {
  return value >= -0x1p31 && value < 0x1p31 && std::nearbyint(value) == value;
}

void check_scalars(const GemmTypes& types, double alpha, double beta, const Epilogue& epilogue) {
  if (!is_supported(types)) {
    fail_argument("types",
                  "be f64·f64→f64, f32·f32→f32, f16·f16→f16 or f32, bf16·bf16→bf16 or f32, "
                  "i8·i8→i32 or u8·i8→i32",
                  types_text(types), "convert the operands");
  }
  if (types.c != ElementType::i32) return;
  if (!fits_i32(alpha) || !fits_i32(beta)) {
    fail_argument("alpha and beta",
                  "be whole numbers from -2147483648 to 2147483647 where C is i32",
                  std::to_string(alpha) + " and " + std::to_string(beta),
                  "scale in a floating-point type afterwards");
  }
  if (epilogue.activation != Activation::none && epilogue.activation != Activation::relu) {
    fail_argument("activation", "be none or relu where C is i32",
                  std::string(name_of(epilogue.activation)), "apply it in a floating-point type");
  }
}

CheckedGroup check_group(const Operands& o, double alpha, const Epilogue& epilogue,
                         std::size_t group, std::size_t groups) {
  const auto named = [&](const char* name) { return ArgumentName{name, group, groups}; };
  if (o.a.rows != o.c.rows) {
    fail_argument(named("A"), "have as many rows as C, " + std::to_string(o.c.rows),
                  shape_text(o.a.rows, o.a.cols), "check m, or transpose A's view");
  }
  if (o.b.rows != o.a.cols) {
    fail_argument(named("B"), "have as many rows as A has columns, " + std::to_string(o.a.cols),
                  shape_text(o.b.rows, o.b.cols), "check k, or transpose B's view");
  }
  if (o.b.cols != o.c.cols) {
    fail_argument(named("B"), "have as many columns as C, " + std::to_string(o.c.cols),
                  shape_text(o.b.rows, o.b.cols), "check n, or transpose B's view");
  }
  const GemmShape shape{o.c.rows, o.c.cols, o.a.cols};
  const bool product_needed = alpha != 0 && shape.m > 0 && shape.n > 0;
  check_view(named("A"), o.a, product_needed);
  check_view(named("B"), o.b, product_needed && o.packed_b == nullptr);
  check_packed_fits(o);
  check_view(named("C"), o.c, true);
  const GemmTypes types{o.a.type, o.b.type, o.c.type};
  check_bias(named("bias"), o.bias, epilogue, shape, types);
  return {shape, types, layout_of(o.a), o.packed_b != nullptr ? kPackedLayout : layout_of(o.b),
          layout_of(o.c)};
}

// One kernel multiplies all products, and blocks of k are as deep in all of them.
void check_packed_alike(std::span<const Operands> groups) {
  const auto text = [](const PackedMatrix& packed) {
    return packed.kernel() + " with a block_k of " + std::to_string(packed.block_k());
  };
  const PackedMatrix* first = nullptr;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const PackedMatrix* const packed = groups[g].packed_b;
    if (packed == nullptr) continue;
    if (first == nullptr) first = packed;
    if (packed->kernel() == first->kernel() && packed->block_k() == first->block_k()) continue;
    fail_argument(ArgumentName{"packed B", g, groups.size()},
                  "be packed as the others, for " + text(*first), text(*packed),
                  "pack all of them for one plan");
  }
}

// What of a product's memory must not be shared: C's with any other's.
void append_views(std::vector<NamedView>& views, const Operands& o, std::size_t group, double alpha,
                  const Epilogue& epilogue) {
  views.push_back({o.c, "C", group, true});
  if (alpha != 0) {
    views.push_back({o.a, "A", group, false});
    // The memory of a B that was packed is not read, and may be another's now.
    if (o.packed_b == nullptr) views.push_back({o.b, "B", group, false});
  }
  if (epilogue.bias != BiasAxis::none) {
    const ConstMatrixView bias{o.bias.data,   1,          o.bias.size, o.bias.size * o.bias.stride,
                               o.bias.stride, o.bias.type};
    views.push_back({bias, "bias", group, false});
  }
}

// Whether a quick look at address ranges shows that no product's memory is shared.
bool are_surely_apart(std::span<const Operands> groups, double alpha, const Epilogue& epilogue) {
  if (epilogue.bias != BiasAxis::none) return false;
  OutputRanges outputs;
  outputs.reserve(groups.size());
  for (const Operands& o : groups) outputs.add(o.c);
  if (!outputs.settle()) return false;
  if (alpha == 0) return true;
  // Matrix by matrix, because each kind mostly lies in order.
  return std::ranges::none_of(groups, [&](const Operands& o) { return outputs.meets(o.a); }) &&
         std::ranges::none_of(groups, [&](const Operands& o) {
           return o.packed_b == nullptr && outputs.meets(o.b);
         });
}

bool is_addressed(const ConstMatrixView& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  return address != 0 && (address & (static_cast<std::uintptr_t>(size_of(view.type)) - 1)) == 0;
}

// Whether a product passes every rule for one product that another has passed.
bool is_like_checked(const Operands& o, const Operands& checked) {
  return differ_in_addresses_alone(o, checked) && is_addressed(o.a) && is_addressed(o.b) &&
         is_addressed(o.c);
}

void lower_alignment(OperandLayout& layout, const void* data) {
  const auto bits =
      reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(layout.alignment);
  layout.alignment = 1 << std::countr_zero(bits);
}

// Whether the addresses from the first to the last element of two views are apart.
bool are_apart(const ConstMatrixView& p, const ConstMatrixView& q) {
  const auto begin = [](const ConstMatrixView& v) {
    return reinterpret_cast<std::uintptr_t>(v.data);
  };
  const auto end = [&](const ConstMatrixView& v) {
    const std::int64_t last = (v.rows - 1) * v.row_stride + (v.cols - 1) * v.col_stride;
    return begin(v) + static_cast<std::uintptr_t>((last + 1) * size_of(v.type));
  };
  const bool one_is_empty = p.rows == 0 || p.cols == 0 || q.rows == 0 || q.cols == 0;
  return one_is_empty || end(p) <= begin(q) || end(q) <= begin(p);
}

}  // namespace

void check_packed_fits(const Operands& operands) {
  const PackedMatrix* const packed = operands.packed_b;
  if (packed == nullptr) return;
  constexpr const char* kRemedy = "pack this B, for a plan with these types";
  if (packed->rows() != operands.b.rows || packed->cols() != operands.b.cols) {
    fail_argument("packed_b", "be " + shape_text(operands.b.rows, operands.b.cols) + ", as B",
                  shape_text(packed->rows(), packed->cols()), kRemedy);
  }
  const KernelEntry* const kernel = find_kernel(packed->kernel());
  const bool fits =
      packed->type() == operands.b.type && (kernel == nullptr || kernel->a == operands.a.type);
  if (!fits) {
    fail_argument("packed_b",
                  "be " + std::string(name_of(operands.b.type)) + " for an A of " +
                      std::string(name_of(operands.a.type)),
                  std::string(name_of(packed->type())) + " for " + packed->kernel(), kRemedy);
  }
}

void check_layouts(const Problem& problem, MachineKind kind) {
  if (problem.b.major != Major::packed || kind == MachineKind::cpu) return;
  throw Error(ErrorCode::unsupported, "B", "lie in memory where a GPU multiplies it",
              "a packed matrix", "plan for its rows or columns");
}

void check_problem(const Problem& problem) {
  check_scalars(problem.types, problem.alpha, problem.beta, problem.epilogue);
  if (problem.a.major == Major::packed || problem.c.major == Major::packed) {
    fail_argument("layout", "be packed for B alone",
                  std::string("a packed ") + (problem.a.major == Major::packed ? "A" : "C"),
                  "say how it lies in memory");
  }
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const GemmShape& shape = problem.groups[g];
    if (!is_size(shape.m) || !is_size(shape.n) || !is_size(shape.k)) {
      fail_argument(ArgumentName{"shape", g, problem.groups.size()},
                    "have m, n and k " + size_requirement(), shape_text(shape),
                    "pass its true size");
    }
  }
}

Problem describe(std::span<const Operands> groups, double alpha, double beta, Epilogue epilogue) {
  Problem problem;
  problem.alpha = alpha;
  problem.beta = beta;
  problem.epilogue = epilogue;
  problem.groups.reserve(groups.size());

  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Products of a batch mostly differ in their addresses alone.
    if (g > 0 && epilogue.bias == BiasAxis::none && is_like_checked(groups[g], groups[g - 1]) &&
        groups[g].c.rows > 0 && groups[g].c.cols > 0 && groups[g].a.cols > 0) {
      problem.groups.push_back(problem.groups.back());
      lower_alignment(problem.a, groups[g].a.data);
      lower_alignment(problem.b, groups[g].b.data);
      lower_alignment(problem.c, groups[g].c.data);
      continue;
    }
    const CheckedGroup checked = check_group(groups[g], alpha, epilogue, g, groups.size());
    const GemmShape& shape = checked.shape;
    if (g == 0) {
      problem.types = checked.types;
      problem.a = checked.a;
      problem.b = checked.b;
      problem.c = checked.c;
    } else if (checked.types != problem.types) {
      fail_argument(ArgumentName{"types", g, groups.size()},
                    "be those of group 0, " + types_text(problem.types), types_text(checked.types),
                    "call once per combination of types");
    }
    problem.groups.push_back(shape);
    if (shape.m > 0 && shape.n > 0 && shape.k > 0) {
      problem.a = common(problem.a, checked.a);
      problem.b = common(problem.b, checked.b);
    }
    if (shape.m > 0 && shape.n > 0) problem.c = common(problem.c, checked.c);
  }
  check_problem(problem);
  if (problem.b.major == Major::packed) check_packed_alike(groups);
  if (!are_surely_apart(groups, alpha, epilogue)) {
    std::vector<NamedView> views;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      append_views(views, groups[g], g, alpha, epilogue);
    }
    check_no_overlap(views);
  }
  return problem;
}

CheckedGroup check_single(const Operands& operands, double alpha, double beta,
                          const Epilogue& epilogue) {
  const CheckedGroup checked = check_group(operands, alpha, epilogue, 0, 1);
  check_scalars(checked.types, alpha, beta, epilogue);
  const bool apart = epilogue.bias == BiasAxis::none && are_apart(operands.c, operands.a) &&
                     (operands.packed_b != nullptr || are_apart(operands.c, operands.b));
  if (!apart) {
    std::vector<NamedView> views;
    append_views(views, operands, 0, alpha, epilogue);
    check_no_overlap(views);
  }
  return checked;
}

void check_operands_fit(const Problem& planned, std::span<const Operands> groups) {
  if (groups.size() != planned.groups.size()) {
    fail_argument("groups", "number " + std::to_string(planned.groups.size()) + ", as in the plan",
                  std::to_string(groups.size()), "plan again for this group");
  }
  const Problem given = describe(groups, planned.alpha, planned.beta, planned.epilogue);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GemmShape& want = planned.groups[g];
    const GemmShape& have = given.groups[g];
    if (want != have) {
      fail_argument(ArgumentName{"operands", g, groups.size()},
                    "be " + shape_text(want) + ", as planned", shape_text(have),
                    "plan again for this size");
    }
  }
  if (!groups.empty() && given.types != planned.types) {
    fail_argument("types", "be " + types_text(planned.types) + ", as planned",
                  types_text(given.types), "plan again for these types");
  }
}

}  // namespace tessera
