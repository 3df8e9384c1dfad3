// Joins the two halves of the catalogue, and states what a kernel asks of a problem and a machine.
#include "core/catalogue.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

namespace tessera {
namespace {

// Each architecture runs the code of those before it on the same line.
constexpr std::array<std::string_view, 6> kCpuArchitectures = {
    "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
constexpr std::array<std::string_view, 2> kGpuArchitectures = {"sm_80", "sm_90"};

std::optional<std::string> why_not_tma(std::string_view operand, const OperandLayout& layout) {
  if (layout.major == Major::general) {
    return std::string(operand) + " has no unit stride, which TMA needs";
  }
  if (!suits_tma(layout)) {
    return std::string(operand) + " is aligned to " + std::to_string(layout.alignment) +
           " bytes; TMA needs base and stride aligned to 16";
  }
  return std::nullopt;
}

}  // namespace

std::span<const KernelEntry> catalogue() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> joined(cuda_kernels().begin(), cuda_kernels().end());
    joined.insert(joined.end(), cpu_kernels().begin(), cpu_kernels().end());
    return joined;
  }();
  return all;
}

const KernelEntry* find_kernel(std::string_view name) {
  static const std::unordered_map<std::string_view, const KernelEntry*> by_name = [] {
    std::unordered_map<std::string_view, const KernelEntry*> made;
    for (const KernelEntry& kernel : catalogue()) made.emplace(kernel.name, &kernel);
    return made;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

double peak_of(const KernelEntry& kernel, const Machine& machine) {
  return machine.peak(kernel.multiplies) / kernel.products;
}

bool splits_f32(const KernelEntry& kernel) {
  return kernel.a == ElementType::f32 && kernel.products > 1;
}

bool splits_f64(const KernelEntry& kernel) {
  return kernel.a == ElementType::f64 && kernel.products > 1;
}

bool looks_at_elements(const KernelEntry& kernel) {
  return splits_f32(kernel) || splits_f64(kernel);
}

double best_rate(ElementType type, const Machine& machine) {
  double rate = machine.peak(type);
  for (const KernelEntry& kernel : catalogue()) {
    if (kernel.a != type || !architecture_runs(machine.architecture, kernel.architecture)) continue;
    if (splits_f32(kernel) && !machine.splits_f32) continue;
    if (splits_f64(kernel) && !machine.splits_f64) continue;
    rate = std::max(rate, peak_of(kernel, machine));
  }
  return rate;
}

bool claims_tiles(const KernelEntry& kernel, const Problem& problem) {
  return kernel.has_group_code && problem.groups.size() > 1 && problem.types.c == problem.types.a;
}

bool architecture_runs(std::string_view available, std::string_view needed) {
  const auto runs_on = [&](const auto& line) {
    const auto a = std::ranges::find(line, available);
    const auto b = std::ranges::find(line, needed);
    return a != line.end() && b <= a;
  };
  return runs_on(kCpuArchitectures) || runs_on(kGpuArchitectures);
}

std::optional<std::string> why_not(const KernelEntry& kernel, const Problem& problem,
                                   const Machine& machine) {
  if (kernel.device != machine.kind) {
    return std::string("runs on a ") + (kernel.device == MachineKind::gpu ? "GPU" : "CPU");
  }
  if (kernel.a != problem.types.a || kernel.b != problem.types.b) {
    return "multiplies " + std::string(name_of(kernel.a)) + " by " + std::string(name_of(kernel.b));
  }
  if (!architecture_runs(machine.architecture, kernel.architecture)) {
    return "needs " + std::string(kernel.architecture) + "; the machine has " +
           machine.architecture;
  }
  return why_not_counted(kernel, problem.groups);
}

std::optional<std::string> why_not_counted(const KernelEntry& kernel,
                                           std::span<const GemmShape> shapes) {
  if (!kernel.needs_tma) return std::nullopt;
  std::int64_t most = 0;
  for (const GemmShape& shape : shapes) most = std::max({most, shape.m, shape.n, shape.k});
  if (most <= kMostTmaSide) return std::nullopt;
  return "has coordinates of 32 bits, for sides of up to " + std::to_string(kMostTmaSide) +
         "; one has " + std::to_string(most);
}

bool suits_tma(const OperandLayout& layout) {
  return layout.major != Major::general && layout.alignment >= 16;
}

std::optional<std::string> why_not_in_place(const KernelEntry& kernel, const Problem& problem) {
  if (!kernel.needs_tma) return std::nullopt;
  if (auto reason = why_not_tma("A", problem.a)) return reason;
  return why_not_tma("B", problem.b);
}

}  // namespace tessera
