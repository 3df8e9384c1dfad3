#include "c_api_convert.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "c_api_handles.hpp"

namespace tessera::c_api {
namespace {

// Memory for the message may be what is missing, so it is kept in place and cut to fit.
thread_local char last_error[2048] = "";

}  // namespace

const char* last_message() noexcept {
  return last_error;
}

tessera_status fail(tessera_status status, std::string_view message) noexcept {
  std::size_t length = std::min(message.size(), sizeof last_error - 1);
  // Not in the middle of a UTF-8 character.
  while (length < message.size() && length > 0 && (message[length] & 0xC0) == 0x80) --length;
  std::memcpy(last_error, message.data(), length);
  last_error[length] = '\0';
  return status;
}

tessera_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return TESSERA_INVALID_ARGUMENT;
    case ErrorCode::unsupported:
      return TESSERA_UNSUPPORTED;
    case ErrorCode::out_of_memory:
      return TESSERA_OUT_OF_MEMORY;
    case ErrorCode::io:
      return TESSERA_IO;
    case ErrorCode::device:
      return TESSERA_DEVICE;
    case ErrorCode::interrupted:
      return TESSERA_INTERRUPTED;
  }
  return TESSERA_INTERNAL;
}

ElementType type_of(tessera_type type, std::string_view owner) {
  static_assert(TESSERA_F64 == static_cast<int>(ElementType::f64));
  static_assert(TESSERA_F32 == static_cast<int>(ElementType::f32));
  static_assert(TESSERA_F16 == static_cast<int>(ElementType::f16));
  static_assert(TESSERA_BF16 == static_cast<int>(ElementType::bf16));
  static_assert(TESSERA_I8 == static_cast<int>(ElementType::i8));
  static_assert(TESSERA_U8 == static_cast<int>(ElementType::u8));
  static_assert(TESSERA_I32 == static_cast<int>(ElementType::i32));
  const int number = static_cast<int>(type);
  const bool is_known = number >= 0 && number <= static_cast<int>(TESSERA_I32);
  // The name is made for a message alone.
  return is_known ? static_cast<ElementType>(number)
                  : checked<ElementType>(type, TESSERA_I32, std::string(owner) + "'s type");
}

namespace {

bool is_packed(const tessera_const_matrix& m) {
  return m.row_stride == TESSERA_PACKED && m.col_stride == TESSERA_PACKED + 1;
}

}  // namespace

ConstMatrixView view_of(const tessera_const_matrix& m, std::string_view owner) {
  // In either order of the strides.
  if (std::min(m.row_stride, m.col_stride) == TESSERA_PACKED) {
    throw Error(
        ErrorCode::invalid_argument, owner, "be a matrix in memory",
        m.row_stride == TESSERA_PACKED ? "one that is packed" : "one that is packed, transposed",
        "pass one that is packed as b of tessera_gemm, tessera_grouped_gemm or a plan, "
        "as tessera_packed_view returns it");
  }
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride, type_of(m.type, owner)};
}

MatrixView view_of(const tessera_matrix& m, std::string_view owner) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride, type_of(m.type, owner)};
}

Operands operands_of(const tessera_operands& o) {
  Operands operands;
  operands.a = view_of(o.a, "A");
  if (is_packed(o.b)) {
    require(o.b.data, "B's data");
    operands.packed_b = &static_cast<const tessera_packed*>(o.b.data)->value;
    operands.b = {nullptr,  o.b.rows,
                  o.b.cols, std::max<std::int64_t>(o.b.cols, 1),
                  1,        type_of(o.b.type, "B")};
  } else {
    operands.b = view_of(o.b, "B");
  }
  operands.c = view_of(o.c, "C");
  operands.bias = {o.bias.data, o.bias.size, o.bias.stride, type_of(o.bias.type, "bias")};
  return operands;
}

std::vector<Operands> groups_of(const tessera_operands* groups, std::size_t count) {
  if (count > 0) require(groups, "groups");
  std::vector<Operands> converted;
  converted.reserve(count);
  for (std::size_t g = 0; g < count; ++g) converted.push_back(operands_of(groups[g]));
  return converted;
}

Epilogue epilogue_of(const tessera_epilogue* epilogue) {
  static_assert(TESSERA_BIAS_COLUMN == static_cast<int>(BiasAxis::column));
  static_assert(TESSERA_SILU == static_cast<int>(Activation::silu));
  if (epilogue == nullptr) return {};
  return {checked<BiasAxis>(epilogue->bias, TESSERA_BIAS_COLUMN, "epilogue.bias"),
          checked<Activation>(epilogue->activation, TESSERA_SILU, "epilogue.activation")};
}

// Members beyond what the caller's header knew keep their defaults.
RunOptions run_options_of(const tessera_run_options* options) {
  if (options == nullptr) return {};
  tessera_run_options known{};
  if (options->struct_size < sizeof known.struct_size || options->struct_size > 4096) {
    throw Error(ErrorCode::invalid_argument, "options.struct_size",
                "be sizeof(tessera_run_options), " + std::to_string(sizeof known),
                std::to_string(options->struct_size), "set it before the call");
  }
  std::memcpy(&known, options, std::min(options->struct_size, sizeof known));
  RunOptions converted;
  converted.threads = known.threads;
  if (known.gpu < 0) {
    throw Error(ErrorCode::invalid_argument, "options.gpu", "be 0, or 1 + a device's number",
                std::to_string(known.gpu), "pass 0 for the host");
  }
  converted.device = known.gpu - 1;
  converted.stream = known.stream;
  converted.workspace = known.workspace;
  converted.workspace_size = known.workspace_size;
  return converted;
}

}  // namespace tessera::c_api
