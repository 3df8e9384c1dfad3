// The gated pair, on the CPU (a GPU's is gated_device.cpp): C ← activation(A·B) ∘ (A·B_up).
//
// Both products of a slab of C go to scratch memory in the accumulator's type, the first with the
// activation in its epilogue, and are multiplied from there, so that C is rounded once. Slabs keep
// the scratch in the shared cache, and its size apart from C's.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backend.hpp"
#include "core/invalid_argument.hpp"
#include "core/view_rules.hpp"
#include "cpu/combine.hpp"
#include "cpu/workspace.hpp"
#include "gated_device.hpp"
#include "ragged.hpp"
#include "ragged_views.hpp"
#include "tessera/error.hpp"
#include "tessera/grouped.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

// Of one product in a slab: 2²¹ elements are 8 MiB of f32.
constexpr std::int64_t kSlabElements = std::int64_t{1} << 21;
// Fewer rows would pack B, and fewer columns A, too often.
constexpr std::int64_t kSlabRows = 2048;
constexpr std::int64_t kSlabColumns = 1024;

struct Gated {
  ConstMatrixView a;
  ConstMatrixView gate;
  ConstMatrixView up;
  MatrixView c;
};

Operands gate_of(const Gated& gated) {
  return {gated.a, gated.gate, gated.c};
}
Operands up_of(const Gated& gated) {
  return {gated.a, gated.up, gated.c};
}

std::vector<Operands> list(const std::vector<Gated>& products,
                           Operands (*product_of)(const Gated&)) {
  std::vector<Operands> operands;
  operands.reserve(products.size());
  for (const Gated& gated : products) operands.push_back(product_of(gated));
  return operands;
}

template <class View>
void check_up(const View& gate, const View& up) {
  if (up.rows == gate.rows && up.cols == gate.cols && up.type == gate.type) return;
  fail_argument("up",
                "be " + shape_text(gate.rows, gate.cols) + " of " +
                    std::string(name_of(gate.type)) + ", as B",
                shape_text(up.rows, up.cols) + " of " + std::string(name_of(up.type)),
                "pass the second weight of the pair");
}

void check(const std::vector<Gated>& products, const RunOptions& options) {
  if (options.trace != nullptr) {
    throw Error(ErrorCode::unsupported, "options.trace", "be null for a gated pair", "a trace",
                "trace A·B and A·B_up with grouped_gemm");
  }
  for (const Gated& gated : products) check_up(gated.gate, gated.up);
  const Problem problem = describe(list(products, gate_of), 1.0, 0.0, {});
  describe(list(products, up_of), 1.0, 0.0, {});
  if (!products.empty() && accumulator_of(problem.types) == ElementType::i32) {
    throw Error(ErrorCode::unsupported, "types", "be floating-point for a gated pair",
                std::string(name_of(problem.types.a)), "convert the operands");
  }
}

// Rows [begin, end) of all products, counted one after another, and columns [left, right).
std::vector<Gated> cut(const std::vector<Gated>& products, std::int64_t begin, std::int64_t end,
                       std::int64_t left, std::int64_t right) {
  std::vector<Gated> slab;
  std::int64_t before = 0;
  for (const Gated& gated : products) {
    const std::int64_t first = std::max(begin - before, std::int64_t{0});
    const std::int64_t last = std::min(end - before, gated.c.rows);
    before += gated.c.rows;
    if (first >= last) continue;
    const auto columns = [&](auto view) {
      return rows_of(view.transposed(), left, right - left).transposed();
    };
    slab.push_back({rows_of(gated.a, first, last - first), columns(gated.gate), columns(gated.up),
                    columns(rows_of(gated.c, first, last - first))});
  }
  return slab;
}

// From row to row of a slab: an odd number of 16 elements. A power of two would put all rows into
// the same few sets of the first-level cache: a tenth of the time of 16 rows by 2048 columns.
std::int64_t scratch_stride(std::int64_t cols) {
  return (cpu::padded_columns(cols) / 16 | 1) * 16;
}

// A slab's products to scratch, one after another; returns where they are.
std::vector<ConstMatrixView> multiply(std::vector<Operands> operands, ElementType type,
                                      std::byte* scratch, const Epilogue& epilogue,
                                      const RunOptions& options) {
  std::vector<ConstMatrixView> results;
  results.reserve(operands.size());
  for (Operands& product : operands) {
    const MatrixView& c = product.c;
    const std::int64_t stride = scratch_stride(c.cols);
    product.c = {scratch, c.rows, c.cols, stride, 1, type};
    scratch += c.rows * stride * size_of(type);
    results.push_back(product.c);
  }
  const Problem problem = describe(operands, 1.0, 0.0, epilogue);
  const FoundPlan found = find_or_make_plan(ProblemKey::of(problem), PlanKeeping::this_thread);
  const std::shared_ptr<const Plan> plan = found.plan;
  if (is_logged(LogTopic::dispatch)) log_path("gated_gemm", found);
  run_on_backend(*plan, operands, options);
  return results;
}

cpu::Scratch& thread_slab() {
  thread_local cpu::Scratch scratch;
  return scratch;
}

std::byte* reserve_slab(std::size_t bytes) {
  void* const memory = thread_slab().reserve(bytes);
  if (memory == nullptr && bytes > 0) {
    throw Error(ErrorCode::out_of_memory, "memory",
                "have room for " + std::to_string(bytes) + " bytes", "a failed allocation",
                "free some");
  }
  return static_cast<std::byte*>(memory);
}

void run_gated(const std::vector<Gated>& products, Activation activation,
               const RunOptions& options) {
  check(products, options);
  std::int64_t rows = 0;
  for (const Gated& gated : products) rows += gated.c.rows;
  const std::int64_t cols = products.empty() ? 0 : products.front().c.cols;
  if (rows == 0 || cols == 0) return;
  const ElementType type = accumulator_of(
      {products.front().a.type, products.front().gate.type, products.front().c.type});

  const std::int64_t slab_rows = std::min(rows, std::max(kSlabRows, kSlabElements / cols));
  const std::int64_t slab_cols =
      std::min(cols, std::max(kSlabColumns, kSlabElements / slab_rows / 64 * 64));
  const std::int64_t bytes = slab_rows * scratch_stride(slab_cols) * size_of(type);
  std::byte* const scratch = reserve_slab(2 * static_cast<std::size_t>(bytes));
  RunOptions threads_only;
  threads_only.threads = threads_of(options);

  for (std::int64_t left = 0; left < cols; left += slab_cols) {
    const std::int64_t right = std::min(cols, left + slab_cols);
    for (std::int64_t begin = 0; begin < rows; begin += slab_rows) {
      const auto slab = cut(products, begin, std::min(rows, begin + slab_rows), left, right);
      const auto gates =
          multiply(list(slab, gate_of), type, scratch, {BiasAxis::none, activation}, threads_only);
      const auto ups = multiply(list(slab, up_of), type, scratch + bytes, {}, threads_only);
      std::vector<cpu::CombinePart> parts;
      parts.reserve(slab.size());
      for (std::size_t i = 0; i < slab.size(); ++i) parts.push_back({gates[i], ups[i], slab[i].c});
      cpu::multiply_elements(parts, threads_only.threads);
    }
  }
}

struct WeightsOf {
  ConstBatchView operator()(const RaggedRows& rows) const { return rows.b; }
  ConstBatchView operator()(const MaskedRows& masked) const { return masked.b; }
  ConstBatchView operator()(const StridedBatch& batch) const { return batch.b; }
  ConstBatchView operator()(const RaggedK&) const { return {}; }
  ConstBatchView operator()(const PointerArray&) const { return {}; }
};

void check_batch(const ConstBatchView& up, std::int64_t groups) {
  if (up.groups != groups) {
    fail_argument("up", "have one matrix per group, " + std::to_string(groups),
                  std::to_string(up.groups), "pass the second weight of every group");
  }
  check_repeated("up", first_matrix_of(up), up.groups, up.group_stride);
}

}  // namespace

void gated_gemm(const RaggedProducts& products, const ConstBatchView& up, Activation activation,
                const RunOptions& options) {
  if (std::holds_alternative<RaggedK>(products) || std::holds_alternative<PointerArray>(products)) {
    fail_argument("products", "be ragged rows, masked rows or a strided batch",
                  std::holds_alternative<RaggedK>(products) ? "ragged k" : "a pointer array",
                  "multiply the two results afterwards");
  }
  if (options.device != kHost) {
    const ConstBatchView gate = std::visit(WeightsOf{}, products);
    check_views(products, BiasAxis::none);
    check_batch(up, gate.groups);
    check_up(gate, up);
    gated_on_device(products, up, activation, options);
    return;
  }
  const std::vector<Operands> gates = products_of(products, {});
  check_batch(up, static_cast<std::int64_t>(gates.size()));
  std::vector<Gated> gated;
  gated.reserve(gates.size());
  for (std::size_t group = 0; group < gates.size(); ++group) {
    gated.push_back({gates[group].a, gates[group].b,
                     matrix_of(up, static_cast<std::int64_t>(group)), gates[group].c});
  }
  run_gated(gated, activation, options);
}

void gated_gemm(ConstMatrixView a, ConstMatrixView gate, ConstMatrixView up, MatrixView c,
                Activation activation, const RunOptions& options) {
  if (options.device == kHost) {
    run_gated({{a, gate, up, c}}, activation, options);
    return;
  }
  check_up(gate, up);
  gated_on_device(StridedBatch{batch_of_one(a), batch_of_one(gate), batch_of_one(c), {}},
                  batch_of_one(up), activation, options);
}

}  // namespace tessera
