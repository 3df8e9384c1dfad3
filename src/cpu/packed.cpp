// Packs B ahead of the calls that use it, and checks that a call can.
#include "tessera/packed.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/invalid_argument.hpp"
#include "core/validate.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/run.hpp"
#include "cpu/workspace.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// Dense, in rows or columns as it is.
ConstMatrixView copy_of(const ConstMatrixView& b, unsigned char* to) {
  const std::int64_t element = size_of(b.type);
  const bool lies_in_rows = b.col_stride == 1;
  const std::int64_t lines = lies_in_rows ? b.rows : b.cols;
  const std::int64_t length = lies_in_rows ? b.cols : b.rows;
  const std::int64_t next = lies_in_rows ? b.row_stride : b.col_stride;
  const std::int64_t step = lies_in_rows ? b.col_stride : b.row_stride;
  ConstMatrixView copy = b;
  copy.data = to;
  copy.row_stride = lies_in_rows ? length : 1;
  copy.col_stride = lies_in_rows ? 1 : length;
  for (std::int64_t line = 0; line < lines; ++line) {
    const auto* from = static_cast<const unsigned char*>(b.data) + line * next * element;
    for (std::int64_t i = 0; i < length; ++i, to += element) {
      std::memcpy(to, from + i * step * element, static_cast<std::size_t>(element));
    }
  }
  return copy;
}

}  // namespace

PackedMatrix pack_b(const Plan& plan, ConstMatrixView b) {
  const cpu::KernelCode& code = cpu::code_of(plan);
  if (b.type != plan.problem.types.b) {
    throw Error(ErrorCode::invalid_argument, "B",
                "be of the plan's type " + std::string(name_of(plan.problem.types.b)),
                std::string(name_of(b.type)), "convert it, or plan for its type");
  }
  const bool is_empty = b.rows <= 0 || b.cols <= 0;
  if (is_empty || b.data == nullptr) {
    throw Error(ErrorCode::invalid_argument, "B", "have elements to pack",
                is_empty ? "an empty matrix" : "a null pointer", "pass the matrix itself");
  }

  PackedMatrix packed;
  packed.rows_ = b.rows;
  packed.cols_ = b.cols;
  packed.type_ = b.type;
  packed.kernel_ = plan.kernel;
  packed.block_k_ = plan.tile.block_k;
  const cpu::PackedLayout layout = cpu::packed_layout(code, packed.block_k_, b.rows, b.cols);
  using cpu::kCacheLine;
  const std::size_t panel_bytes =
      (static_cast<std::size_t>(layout.bytes) + kCacheLine - 1) / kCacheLine * kCacheLine;
  // Elements that panels refer to are kept behind them.
  const std::int64_t kept = code.refers_to_elements ? b.rows * b.cols * size_of(b.type) : 0;
  packed.bytes_ = panel_bytes + static_cast<std::size_t>(kept);
  auto* memory = static_cast<unsigned char*>(cpu::allocate_pages(packed.bytes_));
  if (memory == nullptr) {
    throw Error(ErrorCode::out_of_memory, "memory",
                "have room for " + std::to_string(packed.bytes_) + " bytes", "a failed allocation",
                "pack fewer columns at a time");
  }
  packed.data_ = std::shared_ptr<const void>(memory, std::free);
  if (code.refers_to_elements) b = copy_of(b, memory + panel_bytes);

  const std::int64_t element = size_of(b.type);
  for (std::int64_t iteration = 0; iteration < layout.iterations; ++iteration) {
    const std::int64_t k = iteration * layout.panel.block_rows;
    const auto* from = static_cast<const unsigned char*>(b.data) + k * b.row_stride * element;
    code.pack_b(
        {from, b.cols, std::min(layout.panel.block_rows, b.rows - k), b.col_stride, b.row_stride},
        memory + layout.offset(iteration, 0, 0));
  }
  return packed;
}

namespace cpu {

void check_packed(const Plan& plan, const KernelCode& code, const Operands& operands) {
  const PackedMatrix* packed = operands.packed_b;
  if (packed == nullptr) return;
  const auto require = [](bool fulfilled, const std::string& requirement,
                          const std::string& given) {
    if (fulfilled) return;
    throw Error(ErrorCode::invalid_argument, "packed_b", requirement, given,
                "pack B for this plan, or plan with PackedMatrix's kernel and block_k");
  };
  check_packed_fits(operands);
  require(packed->kernel() == plan.kernel, "be packed for " + plan.kernel, packed->kernel());
  require(packed->block_k() == plan.tile.block_k,
          "be packed with a block_k of " + std::to_string(plan.tile.block_k),
          std::to_string(packed->block_k()));
  require(plan.tile.block_n % code.nr == 0 || plan.tile.block_n >= operands.b.cols,
          "be used with a block_n that is a multiple of " + std::to_string(code.nr),
          std::to_string(plan.tile.block_n));
}

}  // namespace cpu
}  // namespace tessera
