#include "cli/group_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/text_file.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::json;

class GroupParser {
 public:
  GroupParser(const std::filesystem::path& directory, const std::string& name)
      : directory_(directory), name_(name) {}

  std::vector<ProductFiles> parse(std::string_view text) {
    const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (root.is_discarded()) complain("hold JSON", "text that is none");
    if (!root.is_object() || !root.contains("products") || !root["products"].is_array()) {
      complain("be an object with a list 'products'", root.type_name());
    }
    refuse_other_keys(root, {"products"}, "the file");
    std::vector<ProductFiles> products;
    for (const Json& entry : root["products"]) products.push_back(product(entry, products.size()));
    return products;
  }

 private:
  [[noreturn]] void complain(const std::string& requirement, const std::string& given) const {
    throw Error(ErrorCode::io, "group file '" + name_ + "'", requirement, given,
                R"(write {"products": [{"a": "A.npy", "b": "B.npy", "c": "C.npy"}, ...]})");
  }

  void refuse_other_keys(const Json& object, const std::set<std::string>& known,
                         const std::string& where) const {
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key)) complain("have only known names", "'" + key + "' in " + where);
    }
  }

  ProductFiles product(const Json& entry, std::size_t number) const {
    const std::string where = fmt::format("product {}", number);
    if (!entry.is_object()) complain("list objects", where + ", " + entry.type_name());
    refuse_other_keys(entry, {"a", "b", "c"}, where);
    ProductFiles files{required(entry, "a", where), required(entry, "b", where), std::nullopt};
    if (entry.contains("c")) files.c = required(entry, "c", where);
    return files;
  }

  std::filesystem::path required(const Json& entry, const char* key,
                                 const std::string& where) const {
    const auto found = entry.find(key);
    if (found == entry.end() || !found->is_string() || found->get<std::string>().empty()) {
      complain(fmt::format("name a file as '{}'", key), where + " without one");
    }
    return directory_ / found->get<std::string>();
  }

  const std::filesystem::path& directory_;
  const std::string& name_;
};

}  // namespace

std::vector<ProductFiles> parse_group_file(std::string_view text,
                                           const std::filesystem::path& directory,
                                           const std::string& name) {
  return GroupParser(directory, name).parse(text);
}

std::vector<ProductFiles> read_group_file(const std::filesystem::path& path) {
  return parse_group_file(read_text_file(path), path.parent_path(), path.string());
}

}  // namespace tessera::cli
