#include "errors.hpp"

#include <exception>

#include "tessera/error.hpp"

namespace tessera::python {
namespace {

namespace nb = nanobind;

// The module keeps these alive.
struct Classes {
  PyObject* base = nullptr;
  PyObject* invalid_argument = nullptr;
  PyObject* unsupported = nullptr;
  PyObject* out_of_memory = nullptr;
};
Classes classes;

PyObject* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return classes.invalid_argument;
    case ErrorCode::unsupported:
      return classes.unsupported;
    case ErrorCode::out_of_memory:
      return classes.out_of_memory;
    default:
      return classes.base;
  }
}

PyObject* add_class(nb::module_& module, const char* name, const char* doc, PyObject* first,
                    PyObject* second) {
  const nb::object bases = second == nullptr
                               ? nb::borrow(first)
                               : nb::object(nb::make_tuple(nb::handle(first), nb::handle(second)));
  const std::string full_name = std::string("tessera.") + name;
  PyObject* created = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (created == nullptr) throw nb::python_error();
  module.attr(name) = nb::steal(created);
  return created;
}

}  // namespace

void bind_errors(nb::module_& module) {
  classes.base = add_class(module, "Error", "What the library refuses or fails to do.",
                           PyExc_RuntimeError, nullptr);
  classes.invalid_argument =
      add_class(module, "InvalidArgumentError", "An argument breaks its documented requirement.",
                classes.base, PyExc_ValueError);
  classes.unsupported = add_class(module, "UnsupportedError", "No kernel or device here can do it.",
                                  classes.base, PyExc_NotImplementedError);
  classes.out_of_memory =
      add_class(module, "OutOfMemoryError", "Host or device memory, or a workspace, is too small.",
                classes.base, PyExc_MemoryError);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      PyErr_SetString(class_of(error.code()), error.what());
    }
  });
}

}  // namespace tessera::python
