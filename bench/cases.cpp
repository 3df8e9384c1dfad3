#include "bench/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "bench/generator.hpp"
#include "core/validate.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

constexpr std::int64_t kMaxGroups = 1 << 16;

using Row = std::vector<std::string>;

// One line of CSV; fields may stand in double quotes.
Row split(std::string_view line) {
  Row fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

class CaseParser {
 public:
  CaseParser(const std::string& source, int row_divisor, std::uint64_t seed)
      : source_(source), row_divisor_(row_divisor), seed_(seed) {}

  std::vector<Case> parse(std::string_view csv) {
    std::vector<Case> cases;
    std::optional<bool> grouped;
    while (!csv.empty()) {
      const std::size_t end = csv.find('\n');
      std::string_view line = csv.substr(0, end);
      csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty() || line.front() == '#') continue;
      const Row fields = split(line);
      if (!grouped) {
        grouped = is_grouped(fields);
      } else {
        cases.push_back(*grouped ? group_case(fields) : dense_case(fields));
      }
    }
    return cases;
  }

 private:
  [[noreturn]] void complain(const std::string& requirement, const std::string& given) const {
    throw Error(ErrorCode::io, fmt::format("line {} of '{}'", line_, source_), requirement, given,
                "write lines like 1536,1792,6016,showcase under the first line m,n,k,why");
  }

  bool is_grouped(const Row& fields) const {
    if (fields.size() >= 3 && fields[0] == "m" && fields[1] == "n" && fields[2] == "k")
      return false;
    if (fields == Row{"suite", "groups", "n", "k", "total_rows", "sizes"}) return true;
    complain("be m,n,k,why or suite,groups,n,k,total_rows,sizes", "'" + fields[0] + ",...'");
  }

  std::int64_t number(const std::string& text, std::int64_t most) const {
    std::int64_t value = -1;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0 || value > most) {
      complain(fmt::format("hold sizes from 0 to {}", most), "'" + text + "'");
    }
    return value;
  }

  // Everything after the third comma is the kind, commas included.
  Case dense_case(const Row& fields) const {
    if (fields.size() < 3) complain("have at least three fields", fmt::format("{}", fields.size()));
    const GemmShape shape{number(fields[0], kLargestSize), number(fields[1], kLargestSize),
                          number(fields[2], kLargestSize)};
    std::string kind;
    for (std::size_t i = 3; i < fields.size(); ++i) kind += (i > 3 ? "," : "") + fields[i];
    return {fmt::format("{}x{}x{}", shape.m, shape.n, shape.k), kind, {shape}};
  }

  Case group_case(const Row& fields) const {
    if (fields.size() != 6) complain("have six fields", fmt::format("{}", fields.size()));
    const std::int64_t groups = number(fields[1], kMaxGroups);
    const std::int64_t n = number(fields[2], kLargestSize);
    const std::int64_t k = number(fields[3], kLargestSize);
    const std::int64_t rows = number(fields[4], kLargestSize) / row_divisor_;
    if (groups == 0) complain("have at least one group", "0");
    Case found{fmt::format("{}, {} rows, {}", fields[0], rows, fields[5]), "grouped", {}};
    for (const std::int64_t m : draw_rows(rows, shares(fields[5], groups))) {
      found.groups.push_back({m, n, k});
    }
    return found;
  }

  // The probability of each group.
  std::vector<double> shares(const std::string& distribution, std::int64_t groups) const {
    constexpr std::string_view kDirichlet = "dirichlet(";
    std::vector<double> values(static_cast<std::size_t>(groups), 1.0);
    if (distribution == "uniform") return values;
    double concentration = 0;
    const std::string_view argument =
        std::string_view(distribution).substr(std::min(kDirichlet.size(), distribution.size()));
    const auto [stop, error] =
        std::from_chars(argument.data(), argument.data() + argument.size(), concentration);
    const bool closed = stop + 1 == argument.data() + argument.size() && *stop == ')';
    if (!distribution.starts_with(kDirichlet) || error != std::errc() || !closed ||
        !(concentration > 0)) {
      complain("draw sizes by uniform or dirichlet(CONCENTRATION)", "'" + distribution + "'");
    }
    Generator generator(2 * seed_);
    for (double& value : values) value = generator.gamma(concentration);
    return values;
  }

  std::vector<std::int64_t> draw_rows(std::int64_t rows, const std::vector<double>& shares) const {
    std::vector<double> bounds;
    double sum = 0;
    for (const double share : shares) bounds.push_back(sum += share);
    std::vector<std::int64_t> counts(shares.size(), 0);
    Generator generator(2 * seed_ + 1);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto found = std::upper_bound(bounds.begin(), bounds.end(), generator.uniform() * sum);
      const auto group = std::min<std::ptrdiff_t>(found - bounds.begin(),
                                                  static_cast<std::ptrdiff_t>(counts.size()) - 1);
      ++counts[static_cast<std::size_t>(group)];
    }
    return counts;
  }

  const std::string& source_;
  int row_divisor_;
  std::uint64_t seed_;
  int line_ = 0;
};

struct BuiltIn {
  std::string_view name;
  std::string_view csv;
};

// Made from bench/shapes/*.csv when the command is built.
constexpr BuiltIn kBuiltIn[] = {
#include "built_in_shapes.inc"
};

}  // namespace

std::vector<Case> parse_cases(std::string_view csv, const std::string& source, int row_divisor,
                              std::uint64_t seed) {
  return CaseParser(source, row_divisor, seed).parse(csv);
}

std::string built_in_names() {
  std::string names;
  for (const BuiltIn& list : kBuiltIn) {
    names += (names.empty() ? "" : ", ") + std::string(list.name);
  }
  return names;
}

std::string_view built_in_shapes(std::string_view name) {
  for (const BuiltIn& list : kBuiltIn) {
    if (list.name == name) return list.csv;
  }
  return {};
}

}  // namespace tessera::bench
