#include "core/environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "tessera/error.hpp"

namespace tessera {
namespace {

struct Row {
  std::string_view name;
  std::string_view meaning;
};

constexpr Row kVariables[] = {
    {"TESSERA_VERBOSE", "dispatch: say on stderr, in one line, which path each call took and why"},
    {"TESSERA_THREADS", "threads of calls that name no number (default: the machine's cores)"},
    {"TESSERA_ISA",
     "widest instruction set to use: scalar, avx2, avx512, avx512_vnni, avx512_bf16, amx"},
    {"TESSERA_SPLIT_F32",
     "1: f32 may go by tile registers in three parts of bf16, 0: not (default: by processor)"},
    {"TESSERA_SPLIT_F64",
     "1: f64 may go by tile registers by residues of 8 bits, 0: not (default: by processor)"},
    {"TESSERA_PLAN_CACHE", "plans kept for repeated problems (default 1024; 0: plan every call)"},
    {"TESSERA_MACHINE", "of the command: what to plan for where --machine does not say"},
};

}  // namespace

std::optional<std::string> environment_value(std::string_view name) {
  const auto* const row = std::ranges::find(kVariables, name, &Row::name);
  if (row == std::end(kVariables)) return std::nullopt;
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::vector<EnvironmentVariable> environment_variables() {
  std::vector<EnvironmentVariable> variables;
  for (const Row& row : kVariables) {
    variables.push_back({row.name, row.meaning, environment_value(row.name)});
  }
  return variables;
}

bool environment_names(std::string_view name, std::string_view word) {
  const std::optional<std::string> value = environment_value(name);
  if (!value) return false;
  std::string_view rest = *value;
  while (true) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    rest.remove_prefix(comma + 1);
  }
}

std::optional<int> environment_number(std::string_view name, int least, int most) {
  const std::optional<std::string> value = environment_value(name);
  if (!value) return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error != std::errc() || end != value->data() + value->size() || number < least ||
      number > most) {
    throw Error(ErrorCode::invalid_argument, name,
                "be a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                "'" + *value + "'", "correct or unset the environment variable");
  }
  return number;
}

}  // namespace tessera
