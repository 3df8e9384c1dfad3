// The one exception type of the library.
//
// Everything that can go wrong with a call is reported by throwing tessera::Error before anything
// is written. The message always says which argument is at fault, what it must fulfil, what was
// given, and what the caller can do about it; validate.hpp builds most of them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

enum class ErrorCode {
  invalid_argument,  // an argument breaks its documented requirement
  unsupported,       // legal, but no kernel or device here can do it
  out_of_memory,     // host or device memory, or the caller's workspace, is too small
  io,                // a file cannot be read, written or understood
  device,            // the CUDA driver or runtime reported a failure
  interrupted,       // the user asked to stop
};

class TESSERA_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  // A message in the house form: "argument: must requirement; given value; remedy".
  Error(ErrorCode code, std::string_view argument, std::string_view requirement,
        std::string_view given, std::string_view remedy)
      : Error(code, std::string(argument) + ": must " + std::string(requirement) + "; given " +
                        std::string(given) + "; " + std::string(remedy)) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace tessera
