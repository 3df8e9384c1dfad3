#include "cli/npy_header.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace tessera::cli {
namespace {

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const NpyComplaint& complain)
      : text_(text), complain_(complain) {}

  NpyHeader parse() {
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = quoted();
      } else if (key == "fortran_order" && !fortran_order) {
        fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = tuple();
      } else {
        complain_.foreign("a header with the entry " + printable(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!text_.empty()) complain_.foreign("a header followed by " + printable(text_));
    if (!descr || !fortran_order || !shape) {
      complain_.foreign("a header without descr, fortran_order or shape");
    }
    return {*descr, *fortran_order, *shape};
  }

 private:
  void skip_blanks() {
    const std::size_t used = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(used == std::string_view::npos ? text_.size() : used);
  }

  bool accept(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      complain_.foreign(fmt::format("a header with {} where '{}' belongs", printable(text_), c));
    }
  }

  std::string quoted() {
    skip_blanks();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? text_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      complain_.foreign("a header with " + printable(text_) + " where a plain name belongs");
    }
    std::string inside(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return inside;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    complain_.foreign("a header with " + printable(text_) + " where True or False belongs");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t value = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) {
        complain_.foreign("a header with the size " + printable(text_));
      }
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      values.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  const NpyComplaint& complain_;
};

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > 40 ? "...'" : "'");
}

NpyHeader parse_npy_header(std::string_view text, const NpyComplaint& complain) {
  return HeaderParser(text, complain).parse();
}

}  // namespace tessera::cli
