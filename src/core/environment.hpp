// The environment variables that change what the library or its command does. No other file of the
// library calls getenv; `tessera info` prints this list. The planner reads none of them: it is told
// their consequences.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
  std::optional<std::string> value;  // absent where it is not set
};

std::vector<EnvironmentVariable> environment_variables();

// The value of a listed variable; nothing where it is unset or empty.
std::optional<std::string> environment_value(std::string_view name);

// Whether a listed variable's comma-separated value has `word`.
bool environment_names(std::string_view name, std::string_view word);

// A listed variable's value as a whole number from `least` to `most`; throws
// Error(invalid_argument) that names the variable where it is anything else.
std::optional<int> environment_number(std::string_view name, int least, int most);

}  // namespace tessera
