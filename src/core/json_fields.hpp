// Reading JSON strictly: every field is fetched by name, type and range, and what was not fetched
// is foreign. Each complaint is an Error(io) that names the field by its path from the document's
// root.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::json_fields {

using Json = nlohmann::ordered_json;

// A plan with its 4096 groups and all candidates stays far below this.
inline constexpr std::size_t kMaxText = std::size_t{64} << 20;
inline constexpr std::size_t kMaxString = 4096;

// Parses text, whatever bytes it holds.
Json parse(std::string_view text);

// Indented text. Bytes that are no UTF-8 become the replacement character.
std::string dump(const Json& document);

// A number that may be any: JSON has no words for those that are not finite, so they are the
// strings "nan", "inf" and "-inf".
Json number_to_json(double value);

// Throws unless the document is a `kind` ("machine", "plan") of schema `version`.
void check_header(const Json& document, std::string_view kind, std::int64_t version);

[[noreturn]] void fail(const std::string& path, std::string_view requirement,
                       const std::string& given, std::string_view remedy);

// What a value is, short enough for a message.
std::string describe(const Json& value);

class Object {
 public:
  Object(const Json& value, std::string path);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

  // A field of any type; missing is an error.
  const Json& at(std::string_view name);
  bool has(std::string_view name) const { return value_.contains(name); }

  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  // Finite and at least 0, as all quantities here are.
  double quantity(std::string_view name);
  // What number_to_json wrote.
  double number(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  int small_integer(std::string_view name, int least, int most) {
    return static_cast<int>(integer(name, least, most));
  }
  Object object(std::string_view name) { return {at(name), path_of(name)}; }

  // Calls use(element, path) for each element of an array.
  template <class Use>
  void each(std::string_view name, std::size_t most, Use use) {
    const Json& list = at(name);
    if (!list.is_array()) fail(path_of(name), "be an array", describe(list), kRemedy);
    if (list.size() > most) {
      fail(path_of(name), "have at most " + std::to_string(most) + " elements",
           std::to_string(list.size()), "split it");
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      use(list[i], path_of(name) + "[" + std::to_string(i) + "]");
    }
  }

  // A value given by its name; `from_name` throws an Error that lists the known ones.
  template <class FromName>
  auto named(std::string_view name, FromName from_name) {
    const std::string given = text(name);
    try {
      return from_name(given);
    } catch (const Error& error) {
      throw Error(ErrorCode::io, path_of(name) + ": " + error.what());
    }
  }

  // Every field must have been asked for by now.
  void finish() const;

 private:
  static constexpr std::string_view kRemedy = "correct the file";

  const Json& value_;
  std::string path_;
  std::vector<std::string_view> asked_;
};

}  // namespace tessera::json_fields
