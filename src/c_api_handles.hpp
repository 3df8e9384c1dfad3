// What the C API's opaque handles hold.
#pragma once

#include <utility>

#include "tessera/machine.hpp"
#include "tessera/packed.hpp"
#include "tessera/plan.hpp"

struct tessera_machine {
  tessera::Machine value;
};
struct tessera_options {
  tessera::PlanOptions value;
  bool plans_packed_b = false;  // of the problem: its B will be packed
};
struct tessera_plan {
  tessera::Plan value;
};
struct tessera_packed {
  tessera::PackedMatrix value;
};

namespace tessera::c_api {

// Hands a new object over only when it is complete.
template <class Handle, class Value>
void give(Handle** handle, Value&& value) {
  *handle = new Handle{std::forward<Value>(value)};
}

}  // namespace tessera::c_api
