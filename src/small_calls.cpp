#include "small_calls.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/alike.hpp"
#include "core/overlap.hpp"
#include "core/validate.hpp"
#include "cpu/direct.hpp"
#include "cpu/run.hpp"
#include "tessera/log.hpp"

namespace tessera {
namespace {

// A power of two. A batch of mixed sizes, or a recursion, has a few dozen.
constexpr std::size_t kKept = 32;

struct SmallCall {
  Operands like;  // its addresses mean nothing
  cpu::DirectForm form;
  // Of the plan.
  std::string_view kernel;
  TileConfig tile;
  int workers = 0;
  PlanSource source = PlanSource::planner;
  int threads = 0;  // that the call asked for, and the planner counted with
  bool may_use_threads = false;
  // From an operand's first byte to its last one's end, and the bits that an address must not have.
  std::uintptr_t bytes_a = 0;
  std::uintptr_t bytes_b = 0;
  std::uintptr_t bytes_c = 0;
  std::uintptr_t misaligned_a = 0;
  std::uintptr_t misaligned_b = 0;
  std::uintptr_t misaligned_c = 0;
};

SmallCall& slot_of(const Operands& o) {
  // Without a constructor to run: finding the thread's own takes a few instructions.
  static thread_local constinit std::array<SmallCall, kKept> calls = {};
  const auto mixed = [](std::int64_t value, std::uint64_t with) {
    return static_cast<std::uint64_t>(value) * with;
  };
  const std::uint64_t state =
      mixed(o.c.rows, 0x9E3779B97F4A7C15u) + mixed(o.c.cols, 0xC2B2AE3D27D4EB4Fu) +
      mixed(o.a.cols, 0x165667B19E3779F9u) + mixed(o.a.row_stride, 0xD6E8FEB86659FD93u) +
      mixed(o.b.row_stride, 0xA0761D6478BD642Fu) + mixed(o.c.row_stride, 0xE7037ED1A0B428DBu);
  return calls[state >> (64 - std::bit_width(kKept - 1))];
}

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

// What core/validate.cpp asks of addresses, where it can be answered by ranges; and what the form
// does.
bool are_addresses_right(const SmallCall& call, const Operands& operands) {
  const std::uintptr_t a = address_of(operands.a.data);
  const std::uintptr_t b = address_of(operands.b.data);
  const std::uintptr_t c = address_of(operands.c.data);
  const bool given = a != 0 && b != 0 && c != 0;
  const bool aligned =
      ((a & call.misaligned_a) | (b & call.misaligned_b) | (c & call.misaligned_c)) == 0;
  const bool apart = (c + call.bytes_c <= a || a + call.bytes_a <= c) &&
                     (c + call.bytes_c <= b || b + call.bytes_b <= c);
  return given && aligned && apart && cpu::begins_alike(call.form, operands);
}

// A function of its own: where it is inlined, GCC 12 asks for the thread's calls five times instead
// of once, 5 ns more (Zen 5, 2026-11).
[[gnu::noinline]] bool repeat(const SmallCall& call, double alpha, const Operands& operands,
                              double beta, const Epilogue& epilogue, const RunOptions& options) {
  const cpu::DirectForm& form = call.form;
  const bool is_known = form.multiply != nullptr && alpha == form.task.alpha &&
                        beta == form.task.beta && epilogue == Epilogue{} &&
                        differ_in_addresses_alone(operands, call.like);
  if (!is_known || !are_addresses_right(call, operands)) return false;
  const bool is_plain = options.device == kHost && options.workspace == nullptr &&
                        options.trace == nullptr && is_thread_count(options.threads);
  const bool one_thread = !call.may_use_threads || options.threads == 1;
  if (!is_plain || !one_thread || is_logged(LogTopic::dispatch)) return false;
  return cpu::multiply_directly(form, operands);
}

}  // namespace

bool repeat_small_call(double alpha, const Operands& operands, double beta,
                       const Epilogue& epilogue, const RunOptions& options) {
  const SmallCall& call = slot_of(operands);
  return call.source == PlanSource::planner && call.threads == options.threads &&
         repeat(call, alpha, operands, beta, epilogue, options);
}

bool repeat_small_run(const Plan& plan, std::span<const Operands> groups,
                      const RunOptions& options) {
  const Problem& problem = plan.problem;
  if (groups.size() != 1 || problem.groups.size() != 1) return false;
  const Operands& operands = groups.front();
  const SmallCall& call = slot_of(operands);
  const bool is_same_plan =
      call.kernel == plan.kernel && call.tile == plan.tile && call.workers == plan.schedule.workers;
  // Of one pass over k every schedule says the same.
  const bool is_same_order =
      call.form.depth <= call.form.task.depth || plan.schedule.kind == ScheduleKind::data_parallel;
  const GemmShape shape{operands.c.rows, operands.c.cols, operands.a.cols};
  const GemmTypes types{operands.a.type, operands.b.type, operands.c.type};
  return is_same_plan && is_same_order && problem.groups.front() == shape &&
         problem.types == types &&
         repeat(call, problem.alpha, operands, problem.beta, problem.epilogue, options);
}

void keep_small_call(const Plan& plan, const Operands& operands, const RunOptions& options,
                     PlanSource source) {
  if (plan.machine.kind != MachineKind::cpu || operands.packed_b != nullptr) return;
  if (operands.c.rows == 0 || operands.c.cols == 0) return;
  const cpu::KernelCode& code = cpu::code_of(plan);
  const std::optional<cpu::DirectForm> form = cpu::direct_form(plan, code, operands);
  if (!form) return;
  const auto mask = [](const ConstMatrixView& view) {
    return static_cast<std::uintptr_t>(size_of(view.type)) - 1;
  };
  slot_of(operands) = {operands,
                       *form,
                       code.name,
                       plan.tile,
                       plan.schedule.workers,
                       source,
                       options.threads,
                       cpu::may_use_threads(plan),
                       extent_of(operands.a),
                       extent_of(operands.b),
                       extent_of(operands.c),
                       mask(operands.a),
                       mask(operands.b),
                       mask(operands.c)};
}

}  // namespace tessera
