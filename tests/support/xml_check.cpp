#include "support/xml_check.hpp"

#include <cctype>
#include <vector>

namespace tessera::test {
namespace {

std::string fault_at(std::string_view text, std::size_t at, const std::string& what) {
  return what + " before \"" + std::string(text.substr(at, 60)) + "\"";
}

}  // namespace

std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < text.size()) {
    const char byte = text[at];
    if (byte == '&') {
      const std::size_t end = text.find(';', at);
      if (end == std::string_view::npos || end - at > 8) return fault_at(text, at, "bare '&'");
    }
    if (byte != '<') {
      ++at;
      continue;
    }
    const bool closes = at + 1 < text.size() && text[at + 1] == '/';
    std::size_t scan = at + (closes ? 2 : 1);
    const std::size_t name_begin = scan;
    while (scan < text.size() && (std::isalnum(static_cast<unsigned char>(text[scan])) != 0))
      ++scan;
    const std::string name(text.substr(name_begin, scan - name_begin));
    if (name.empty()) return fault_at(text, at, "no tag name");
    bool quoted = false;
    const std::size_t attributes = scan;
    while (scan < text.size() && (quoted || text[scan] != '>')) {
      if (text[scan] == '"') quoted = !quoted;
      if (text[scan] == '<') return fault_at(text, at, "'<' inside a tag");
      ++scan;
    }
    if (scan == text.size()) return fault_at(text, at, "tag without end");
    const std::string_view body = text.substr(attributes, scan - attributes);
    for (const char* bad : {"\"nan", "\"inf", "\"-nan", "\"-inf"}) {
      if (body.find(bad) != std::string_view::npos) return fault_at(text, at, "not a number");
    }
    if (closes) {
      if (open.empty() || open.back() != name) return fault_at(text, at, "closes what is not open");
      open.pop_back();
    } else if (text[scan - 1] != '/') {
      open.push_back(name);
    }
    at = scan + 1;
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

int count_elements(std::string_view text, std::string_view name) {
  const std::string tag = "<" + std::string(name);
  int found = 0;
  for (std::size_t at = text.find(tag); at != std::string_view::npos;
       at = text.find(tag, at + tag.size())) {
    const char next = text[at + tag.size()];
    if (next == ' ' || next == '>' || next == '/') ++found;
  }
  return found;
}

}  // namespace tessera::test
