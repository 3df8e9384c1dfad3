// An environment variable for the length of a test, and then what it was before.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tessera::test {

class Setting {
 public:
  // Null: it is not set.
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Setting() { set(before_ ? before_->c_str() : nullptr); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  void set(const char* value) const {
    value != nullptr ? setenv(name_, value, 1) : unsetenv(name_);
  }

  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace tessera::test
