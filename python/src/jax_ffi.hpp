// The calls of XLA's compiled programs (jax.ffi), for builds that have JAX's headers.
#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

// Adds jax_targets(), which names the handlers that tessera.jax registers.
void bind_jax(nanobind::module_& module);

}  // namespace tessera::python
