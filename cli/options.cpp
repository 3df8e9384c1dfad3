#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

#include "cli/shape.hpp"
#include "cli/text_file.hpp"
#include "core/validate.hpp"
#include "tessera/error.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

constexpr int kMaxWorkers = 1 << 20;
constexpr int kMaxAlignment = 128;

// The largest power of two that divides every outer stride in bytes.
int alignment_of(std::int64_t outer_stride_bytes, int so_far) {
  if (outer_stride_bytes == 0) return so_far;
  const int divides = std::countr_zero(static_cast<std::uint64_t>(outer_stride_bytes));
  return std::min(so_far, 1 << std::min(divides, 7));
}

// A matrix's layout over all groups: `cols` is its length along the stored rows.
template <class Length>
OperandLayout packed_layout(Major major, ElementType type, const std::vector<GemmShape>& groups,
                            Length length) {
  OperandLayout layout{major, kMaxAlignment};
  for (const GemmShape& shape : groups) {
    layout.alignment = alignment_of(length(shape) * size_of(type), layout.alignment);
  }
  return layout;
}

}  // namespace

CLI::Validator seed_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        std::uint64_t seed = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
        if (error != std::errc() || end != text.data() + text.size()) {
          return fmt::format("must be a whole number from 0 to {}; given '{}'",
                             std::numeric_limits<std::uint64_t>::max(), text);
        }
        text = std::to_string(seed);  // 010 is ten, not octal
        return {};
      },
      "");
}

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  app.add_option("shape", options.shape,
                 "The product's size: rows of C, columns of C, inner length")
      ->type_name("MxNxK");
  app.add_option("--group", options.group,
                 "Several products in one schedule: sizes with commas between (MxNxK:COUNT repeats "
                 "one), or a JSON file that lists .npy files")
      ->type_name("MxNxK,...|FILE");
  app.add_option("--type", options.type,
                 "Element type of A and B: f64, f32 (default), f16, bf16, i8, u8 (A u8 and B i8)")
      ->type_name("TYPE");
  app.add_option("--out-type", options.out_type, "Element type of C (default: follows from --type)")
      ->type_name("TYPE");
  add_layout_option(app, options.trans);
  app.add_option("--alpha", options.alpha, "C <- alpha A B + beta C")->capture_default_str();
  app.add_option("--beta", options.beta, "C <- alpha A B + beta C")->capture_default_str();
  app.add_option("--activation", options.activation,
                 "Applied to each element of C: none, relu, gelu_tanh, gelu_erf, silu")
      ->capture_default_str();
}

GemmTypes types_from(const ProblemOptions& options) {
  GemmTypes types = gemm_types_for(options.type.empty() ? ElementType::f32
                                                        : element_type_from_name(options.type));
  if (!options.out_type.empty()) types.c = element_type_from_name(options.out_type);
  return types;
}

void add_layout_option(CLI::App& app, std::string& trans) {
  app.add_option(
         "--trans", trans,
         "How A and B are stored: N as used, T transposed; P for a B that is packed ahead, on "
         "a CPU; for example NT")
      ->type_name("NN|NT|NP|TN|TT|TP")
      ->capture_default_str();
}

StoredLayouts layouts_from(const std::string& trans) {
  const auto known = [](char c) { return c == 'N' || c == 'T' || c == 'n' || c == 't'; };
  const auto is_p = [](char c) { return c == 'P' || c == 'p'; };
  if (trans.size() != 2 || !known(trans[0]) || !(known(trans[1]) || is_p(trans[1]))) {
    throw Error(ErrorCode::invalid_argument, "--trans", "be NN, NT, NP, TN, TT or TP",
                fmt::format("'{}'", trans), "give one letter for A and one for B");
  }
  const auto layout = [&](char c) {
    return is_p(c) ? Major::packed : c == 'T' || c == 't' ? Major::column : Major::row;
  };
  return {layout(trans[0]), layout(trans[1])};
}

Epilogue epilogue_from(const ProblemOptions& options) {
  return {BiasAxis::none, activation_from_name(options.activation)};
}

bool is_group_file(const std::string& group) {
  std::error_code error;
  return group.ends_with(".json") || std::filesystem::exists(group, error);
}

Problem problem_from(const ProblemOptions& options) {
  if (options.shape.empty() == options.group.empty()) {
    throw Error(ErrorCode::invalid_argument, "product", "be given once",
                options.shape.empty() ? "nothing" : "a shape and --group",
                "give either a shape such as 1536x1792x6016 or --group");
  }
  Problem problem;
  problem.types = types_from(options);
  problem.groups = options.group.empty() ? std::vector{parse_shape(options.shape, "shape")}
                                         : parse_shapes(options.group, "--group");
  const StoredLayouts layouts = layouts_from(options.trans);
  problem.a = packed_layout(layouts.a, problem.types.a, problem.groups, [&](const GemmShape& s) {
    return layouts.a == Major::row ? s.k : s.m;
  });
  problem.b =
      layouts.b == Major::packed
          ? kPackedLayout
          : packed_layout(layouts.b, problem.types.b, problem.groups,
                          [&](const GemmShape& s) { return layouts.b == Major::row ? s.n : s.k; });
  problem.c = packed_layout(Major::row, problem.types.c, problem.groups,
                            [](const GemmShape& s) { return s.n; });
  problem.alpha = options.alpha;
  problem.beta = options.beta;
  problem.epilogue = epilogue_from(options);
  check_problem(problem);
  return problem;
}

void add_machine_options(CLI::App& app, MachineOptions& options) {
  app.add_option("--machine", options.machine,
                 "Plan for this machine: a shipped description's name or a JSON file (default: the "
                 "one at hand)")
      ->type_name("NAME|FILE")
      ->envname("TESSERA_MACHINE");
  app.add_option("--device", options.device, "Where the product runs: cpu or cuda")
      ->type_name("DEVICE")
      ->capture_default_str();
}

Machine machine_from(const MachineOptions& options) {
  if (options.device != "cpu" && options.device != "cuda") {
    throw Error(ErrorCode::invalid_argument, "--device", "be cpu or cuda",
                fmt::format("'{}'", options.device), "choose a listed device");
  }
  if (options.machine.empty()) {
    return options.device == "cuda" ? device_machine() : host_machine();
  }
  std::error_code error;
  const bool is_file =
      options.machine.ends_with(".json") || std::filesystem::exists(options.machine, error);
  return is_file ? machine_from_json(read_text_file(options.machine))
                 : machine_by_name(options.machine);
}

void add_schedule_options(CLI::App& app, ScheduleOptions& options) {
  const CLI::Validator positive = in_range(1, kMaxWorkers);
  app.add_option("--schedule", options.schedule,
                 "data_parallel, split_k, stream_k or hybrid (default: the planner's choice)")
      ->type_name("SCHEDULE");
  app.add_option("--workers", options.workers,
                 "Logical workers of the schedule; independent of --threads")
      ->type_name("N")
      ->check(positive);
  app.add_option("--splits", options.splits, "Pieces along k of each tile, for split_k")
      ->type_name("N")
      ->check(positive);
  app.add_option("--tile", options.tile, "The tile of C and the depth of one iteration")
      ->type_name("BMxBNxBK");
  app.add_option("--order", options.order, "Tile order: linear, swizzle(ROWS) or hilbert")
      ->type_name("ORDER");
  app.add_flag("--no-two-tile", options.no_two_tile,
               "hybrid: stream-K for the partial wave only, not for one full wave besides");
  app.add_option("--kernel", options.kernel, "A kernel by name; 'tessera info' lists them")
      ->type_name("NAME");
  app.add_flag("--batch-invariant", options.batch_invariant,
               "No row of C depends on how many other rows or products there are");
}

void add_peer_option(CLI::App& app, std::vector<std::string>& peers) {
  app.add_option(
         "--peer", peers,
         "Compare with openblas, blis, onednn or tessera, another build of it, on a GPU with "
         "cublaslt; a library of one's own by openblas=/path/lib.so")
      ->delimiter(',')
      ->type_name("NAME[=PATH],...");
}

PlanOptions plan_options_from(const ScheduleOptions& options) {
  PlanOptions plan;
  if (!options.schedule.empty()) plan.schedule = schedule_kind_from_name(options.schedule);
  if (options.workers > 0) plan.workers = options.workers;
  if (options.splits > 0) plan.splits = options.splits;
  if (!options.tile.empty()) plan.tile = parse_tile(options.tile);
  if (!options.order.empty()) plan.order = tile_order_from_name(options.order);
  if (!options.kernel.empty()) plan.kernel = options.kernel;
  plan.two_tile = !options.no_two_tile;
  plan.batch_invariant = options.batch_invariant;
  return plan;
}

}  // namespace tessera::cli
