// grouped.hpp for Python's arrays.
#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

void bind_ragged(nanobind::module_& module);

}  // namespace tessera::python
