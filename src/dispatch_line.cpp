#include "dispatch_line.hpp"

#include <algorithm>
#include <charconv>

#include "core/invalid_argument.hpp"
#include "core/tile_config.hpp"
#include "core/work.hpp"

namespace tessera {
namespace {

std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string shapes_text(const Problem& problem) {
  const auto text = [](const GemmShape& s) {
    return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
  };
  if (problem.groups.size() == 1) return text(problem.groups.front());
  std::string shapes = std::to_string(problem.groups.size()) + " products";
  if (problem.groups.empty()) return shapes;
  return shapes + ", largest " + text(std::ranges::max(problem.groups, {}, multiply_adds));
}

std::string schedule_text(const Schedule& schedule) {
  return kind_text(schedule) + " over " + std::to_string(schedule.workers) +
         (schedule.workers == 1 ? " worker" : " workers");
}

}  // namespace

std::string dispatch_line(std::string_view call, const Plan& plan, std::string_view origin) {
  const Problem& p = plan.problem;
  std::string line = std::string(call) + " " + shapes_text(p) + " " + types_text(p.types);
  line += ", A " + std::string(name_of(p.a.major)) + ", B " + std::string(name_of(p.b.major)) +
          ", C " + std::string(name_of(p.c.major)) + ", alpha " + number(p.alpha) + ", beta " +
          number(p.beta);
  line += ": " + plan.kernel + ", tile " + to_text(plan.tile) + ", " +
          schedule_text(plan.schedule) + ", plan " + std::string(origin);
  if (!plan.reason.empty()) line += "; " + plan.reason;
  return line;
}

}  // namespace tessera
