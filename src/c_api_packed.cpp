// The C API's calls for weights that are packed ahead. See c_api.cpp; a packed matrix becomes an
// operand in c_api_convert.cpp.
#include "c_api_convert.hpp"
#include "c_api_handles.hpp"

namespace {

using namespace tessera::c_api;

}  // namespace

extern "C" {

tessera_status tessera_pack_b(tessera_const_matrix b, int64_t rows, tessera_type type_a,
                              tessera_packed** packed) {
  return guarded([&] {
    require(packed, "packed");
    give(packed, tessera::pack_b(view_of(b, "B"), rows, type_of(type_a, "A")));
  });
}

tessera_status tessera_plan_pack_b(const tessera_plan* plan, tessera_const_matrix b,
                                   tessera_packed** packed) {
  return guarded([&] {
    require(plan, "plan");
    require(packed, "packed");
    give(packed, tessera::pack_b(plan->value, view_of(b, "B")));
  });
}

tessera_const_matrix tessera_packed_view(const tessera_packed* packed) {
  if (packed == nullptr) {
    return {nullptr, 0, 0, TESSERA_PACKED, TESSERA_PACKED + 1, TESSERA_F32};
  }
  const tessera::PackedMatrix& matrix = packed->value;
  return {packed,         matrix.rows(),      matrix.cols(),
          TESSERA_PACKED, TESSERA_PACKED + 1, static_cast<tessera_type>(matrix.type())};
}

tessera_status tessera_packed_bytes(const tessera_packed* packed, size_t* bytes) {
  return guarded([&] {
    require(packed, "packed");
    require(bytes, "bytes");
    *bytes = packed->value.bytes();
  });
}

void tessera_packed_destroy(tessera_packed* packed) {
  delete packed;
}

}  // extern "C"
