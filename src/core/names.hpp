// Looking a value up by its name in a table of rows with a `name`, with one form of error for all,
// and the number that may stand behind a name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/error.hpp"

namespace tessera {

// The `value` member of the row called `name`; throws an Error that lists every known name.
template <auto value, class Table>
auto value_from_name(std::string_view argument, const Table& table, std::string_view name) {
  std::string known;
  for (const auto& row : table) {
    if (row.name == name) return row.*value;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::invalid_argument, argument, "be one of " + known,
              "'" + std::string(name) + "'", "choose a listed name");
}

// The name of the row whose `value` member is `wanted`.
template <auto value, class Table, class Wanted>
std::string_view name_from_value(const Table& table, Wanted wanted) {
  for (const auto& row : table) {
    if (row.*value == wanted) return row.name;
  }
  return "?";
}

// 4 in "swizzle(4)"; nothing where no number, or more than it, stands in brackets at the end.
std::optional<int> number_in_brackets(std::string_view text);

}  // namespace tessera
