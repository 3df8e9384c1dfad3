// For tests: whether text is well-formed XML, as far as our pictures use it: every tag closed in
// order, attributes quoted, no stray '<' or '&', no number that is not finite.
#pragma once

#include <string>
#include <string_view>

namespace tessera::test {

// Empty, or what is wrong and where.
std::string xml_fault(std::string_view text);

// Elements of one kind.
int count_elements(std::string_view text, std::string_view name);

}  // namespace tessera::test
