// Packs B ahead of the calls that use it, and checks that a call can.
#include "tessera/packed.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/invalid_argument.hpp"
#include "core/validate.hpp"
#include "core/view_rules.hpp"
#include "cpu/cache_line.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/run.hpp"
#include "cpu/workspace.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// Its lines (lines_of), dense, one after another.
cpu::PackSource copy_of(const cpu::PackSource& b, std::int64_t element, unsigned char* to) {
  const cpu::Lines lines = cpu::lines_of(b);
  const cpu::PackSource copy{to, b.along, b.depth, cpu::lies_along_k(b) ? lines.length : 1,
                             cpu::lies_along_k(b) ? 1 : lines.length};
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const auto* from = static_cast<const unsigned char*>(b.data) + line * lines.next * element;
    for (std::int64_t i = 0; i < lines.length; ++i, to += element) {
      std::memcpy(to, from + i * lines.step * element, static_cast<std::size_t>(element));
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
  const bool is_empty = b.rows == 0 || b.cols == 0;
  check_view({"B", 0, 1}, b, false);
  if (is_empty || b.data == nullptr) {
    throw Error(ErrorCode::invalid_argument, "B", "have elements to pack",
                is_empty ? "an empty matrix" : "a null pointer", "pass the matrix itself");
  }

  const double least_bytes = static_cast<double>(b.rows) * static_cast<double>(b.cols) *
                             static_cast<double>(code.packed_size_b + size_of(b.type));
  if (least_bytes >= cpu::kUncountableBytes) {
    throw Error(ErrorCode::out_of_memory, "B", "take less than 2^62 bytes",
                std::to_string(b.rows) + "x" + std::to_string(b.cols) + " elements",
                "pass its true size");
  }

  PackedMatrix packed;
  packed.rows_ = b.rows;
  packed.cols_ = b.cols;
  packed.type_ = b.type;
  packed.kernel_ = plan.kernel;
  packed.block_k_ = plan.tile.block_k;
  const cpu::PackedLayout layout = cpu::packed_layout(code, packed.block_k_, b.rows, b.cols);
  const std::int64_t element = size_of(b.type);
  const std::size_t panel_bytes = cpu::line_up(layout.bytes);
  // Elements that panels refer to are kept behind them.
  const std::int64_t kept = code.refers_to_elements ? b.rows * b.cols * element : 0;
  packed.bytes_ = panel_bytes + static_cast<std::size_t>(kept);
  auto* memory = static_cast<unsigned char*>(cpu::allocate_pages(packed.bytes_));
  if (memory == nullptr) {
    throw Error(ErrorCode::out_of_memory, "memory",
                "have room for " + std::to_string(packed.bytes_) + " bytes", "a failed allocation",
                "pack fewer columns at a time");
  }
  packed.data_ = std::shared_ptr<const void>(memory, std::free);
  cpu::PackSource source{b.data, b.cols, b.rows, b.col_stride, b.row_stride};
  if (code.refers_to_elements) source = copy_of(source, element, memory + panel_bytes);

  for (std::int64_t iteration = 0; iteration < layout.iterations; ++iteration) {
    const std::int64_t k = iteration * layout.panel.block_rows;
    cpu::PackSource block = source;
    block.data = static_cast<const unsigned char*>(source.data) + k * source.depth_stride * element;
    block.depth = std::min(layout.panel.block_rows, b.rows - k);
    code.pack_b(block, memory + layout.offset(iteration, 0, 0));
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
                "pack B for this plan, or plan for what it was packed for");
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
