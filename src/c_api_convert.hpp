// What the files of the C API share: arguments of C as those of C++, and exceptions as status
// codes.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.hpp"
#include "tessera/tessera.h"
#include "tessera/tessera.hpp"

namespace tessera::c_api {

// This thread's last message.
const char* last_message() noexcept;
// Keeps the message and returns the status.
tessera_status fail(tessera_status status, std::string_view message) noexcept;
tessera_status status_of(ErrorCode code) noexcept;

// Runs a call's body; no exception leaves it.
template <class Body>
tessera_status guarded(Body&& body) noexcept {
  try {
    body();
    return TESSERA_OK;
  } catch (const Error& error) {
    return fail(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(TESSERA_OUT_OF_MEMORY,
                "memory: the host has none left; free some, or use a smaller problem");
  } catch (const std::exception& error) {
    return fail(TESSERA_INTERNAL, error.what());
  } catch (...) {
    return fail(TESSERA_INTERNAL, "an exception of unknown type");
  }
}

template <class Pointer>
void require(Pointer* pointer, std::string_view argument) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::invalid_argument, argument, "point to an object", "NULL",
                "pass its address");
  }
}

// C enums are integers that can hold anything.
template <class To, class From>
To checked(From value, int last, std::string_view argument) {
  const int number = static_cast<int>(value);
  if (number < 0 || number > last) {
    throw Error(ErrorCode::invalid_argument, argument, "be one of its enum's constants",
                std::to_string(number), "see tessera.h");
  }
  return static_cast<To>(number);
}

// `owner`: whose type it is, for messages.
ElementType type_of(tessera_type type, std::string_view owner);
ConstMatrixView view_of(const tessera_const_matrix& matrix, std::string_view owner);
MatrixView view_of(const tessera_matrix& matrix, std::string_view owner);
Epilogue epilogue_of(const tessera_epilogue* epilogue);
Operands operands_of(const tessera_operands& operands);
std::vector<Operands> groups_of(const tessera_operands* groups, std::size_t count);
RunOptions run_options_of(const tessera_run_options* options);

}  // namespace tessera::c_api
