#include "core/json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::json_fields {
namespace {

constexpr std::string_view kRegenerate = "write the file again with this version of the library";

// nlohmann's parser recurses nowhere, but its values' destructor and copies do; real documents are
// five deep.
constexpr int kMaxDepth = 32;

struct NotFinite {
  const char* name;
  double value;
};
constexpr NotFinite kNotFinite[] = {{"nan", std::numeric_limits<double>::quiet_NaN()},
                                    {"inf", std::numeric_limits<double>::infinity()},
                                    {"-inf", -std::numeric_limits<double>::infinity()}};

bool is_finite(const Json& field) {
  return field.is_number() && std::isfinite(field.get<double>());
}

}  // namespace

void fail(const std::string& path, std::string_view requirement, const std::string& given,
          std::string_view remedy) {
  throw Error(ErrorCode::io, path, requirement, given, remedy);
}

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t kEnough = 40;
  if (text.size() > kEnough) text = text.substr(0, kEnough) + "...";
  return text;
}

Json parse(std::string_view text) {
  if (text.size() > kMaxText) {
    fail("JSON", "be at most " + std::to_string(kMaxText) + " bytes", std::to_string(text.size()),
         "pass a machine or a plan");
  }
  const auto too_deep = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMaxDepth) {
      fail("JSON", "nest at most " + std::to_string(kMaxDepth) + " levels", std::to_string(depth),
           "pass a machine or a plan");
    }
    return true;
  };
  try {
    return Json::parse(text, too_deep);
  } catch (const Json::exception& error) {
    const std::string shown(text.substr(0, 20));
    fail("JSON", "be well formed", describe(Json(shown)) + " (" + error.what() + ")",
         "check that the file is complete");
  }
}

std::string dump(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json number_to_json(double value) {
  if (std::isnan(value)) return kNotFinite[0].name;
  if (std::isinf(value)) return kNotFinite[value > 0 ? 1 : 2].name;
  return value;
}

void check_header(const Json& document, std::string_view kind, std::int64_t version) {
  const std::string name(kind);
  if (!document.is_object()) fail(name, "be an object", describe(document), kRegenerate);
  const auto document_kind = document.find("document");
  if (document_kind == document.end()) {
    fail(name + ".document", "be present", "no such field", "check that this is a " + name);
  }
  if (*document_kind != kind) {
    fail(name + ".document", "be \"" + name + "\"", describe(*document_kind),
         "pass a " + name + " here");
  }
  const auto schema = document.find("schema");
  if (schema == document.end()) {
    fail(name + ".schema", "be present", "no such field", kRegenerate);
  }
  if (*schema != version) {
    fail(name + ".schema", "be " + std::to_string(version) + ", the version this library reads",
         "version " + describe(*schema), kRegenerate);
  }
}

Object::Object(const Json& value, std::string path) : value_(value), path_(std::move(path)) {
  if (!value.is_object()) fail(path_, "be an object", describe(value), kRemedy);
}

std::string Object::path_of(std::string_view name) const {
  return path_ + "." + std::string(name);
}

const Json& Object::at(std::string_view name) {
  const auto found = value_.find(name);
  if (found == value_.end()) fail(path_of(name), "be present", "no such field", kRemedy);
  asked_.push_back(name);
  return *found;
}

std::string Object::text(std::string_view name) {
  const Json& field = at(name);
  if (!field.is_string()) fail(path_of(name), "be a string", describe(field), kRemedy);
  auto text = field.get<std::string>();
  if (text.size() > kMaxString) {
    fail(path_of(name), "have at most " + std::to_string(kMaxString) + " bytes",
         std::to_string(text.size()), kRemedy);
  }
  return text;
}

bool Object::boolean(std::string_view name) {
  const Json& field = at(name);
  if (!field.is_boolean()) fail(path_of(name), "be true or false", describe(field), kRemedy);
  return field.get<bool>();
}

double Object::number(std::string_view name) {
  const Json& field = at(name);
  for (const NotFinite& one : kNotFinite) {
    if (field == one.name) return one.value;
  }
  if (!is_finite(field)) {
    fail(path_of(name), "be a finite number, \"nan\", \"inf\" or \"-inf\"", describe(field),
         kRemedy);
  }
  return field.get<double>();
}

double Object::quantity(std::string_view name) {
  const Json& field = at(name);
  if (!is_finite(field)) fail(path_of(name), "be a finite number", describe(field), kRemedy);
  if (field.get<double>() < 0) fail(path_of(name), "be at least 0", describe(field), kRemedy);
  return field.get<double>();
}

std::int64_t Object::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const Json& field = at(name);
  const bool fits = field.is_number_integer() &&
                    (!field.is_number_unsigned() ||
                     field.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)) &&
                    field.get<std::int64_t>() >= least && field.get<std::int64_t>() <= most;
  if (!fits) {
    fail(path_of(name),
         "be a whole number from " + std::to_string(least) + " to " + std::to_string(most),
         describe(field), kRemedy);
  }
  return field.get<std::int64_t>();
}

void Object::finish() const {
  for (const auto& [name, unused] : value_.items()) {
    if (std::ranges::find(asked_, name) == asked_.end()) {
      fail(path_of(name.substr(0, 64)), "be a known field", describe(unused),
           "remove it, or correct its name");
    }
  }
}

}  // namespace tessera::json_fields
