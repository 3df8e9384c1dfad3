// tessera::Error as Python exceptions, with the library's own message.
#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

// Adds the exception classes to the module and translates from now on.
void bind_errors(nanobind::module_& module);

}  // namespace tessera::python
