#include "dispatch_line.hpp"

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string times(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

std::string shapes_text(const Problem& problem) {
  const auto text = [](const GemmShape& s) { return times(s.m, s.n, s.k); };
  if (problem.groups.size() == 1) return text(problem.groups.front());
  std::string shapes = std::to_string(problem.groups.size()) + " products";
  if (problem.groups.empty()) return shapes;
  const auto work = [](const GemmShape& s) {
    return static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  };
  return shapes + ", largest " + text(std::ranges::max(problem.groups, {}, work));
}

std::string types_text(const GemmTypes& types) {
  std::string a(name_of(types.a));
  if (types.a == types.b && types.b == types.c) return a;
  return a + "·" + std::string(name_of(types.b)) + "→" + std::string(name_of(types.c));
}

std::string schedule_text(const Schedule& schedule) {
  std::string text(name_of(schedule.kind));
  if (schedule.kind == ScheduleKind::split_k) text += "(" + std::to_string(schedule.splits) + ")";
  return text + " over " + std::to_string(schedule.workers) +
         (schedule.workers == 1 ? " worker" : " workers");
}

}  // namespace

std::string dispatch_line(std::string_view call, const Plan& plan, std::string_view origin) {
  const Problem& p = plan.problem;
  std::string line = std::string(call) + " " + shapes_text(p) + " " + types_text(p.types);
  line += ", A " + std::string(name_of(p.a.major)) + ", B " + std::string(name_of(p.b.major)) +
          ", C " + std::string(name_of(p.c.major)) + ", alpha " + number(p.alpha) + ", beta " +
          number(p.beta);
  line += ": " + plan.kernel + ", tile " +
          times(plan.tile.block_m, plan.tile.block_n, plan.tile.block_k) + ", " +
          schedule_text(plan.schedule) + ", plan " + std::string(origin);
  if (!plan.reason.empty()) line += "; " + plan.reason;
  return line;
}

}  // namespace tessera
