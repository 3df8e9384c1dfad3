#include "cpu/direct.hpp"

#include "cpu/product.hpp"

namespace tessera::cpu {
namespace {

// m·n·k above which walking the block in pieces that fit the caches matters more than a short way.
constexpr std::int64_t kLargestVolume = 128 * 128 * 128;

bool is_small(const Operands& operands) {
  return operands.c.rows <= kLargestVolume && operands.c.cols <= kLargestVolume &&
         operands.a.cols <= kLargestVolume &&
         operands.c.rows * operands.c.cols <= kLargestVolume / operands.a.cols;
}

}  // namespace

bool run_directly(const Plan& plan, const KernelCode& code, const Operands& operands) {
  const TileConfig& tile = plan.tile;
  const bool is_one_item = tile.block_m >= operands.c.rows && tile.block_n >= operands.c.cols &&
                           tile.block_k >= operands.a.cols;
  const bool is_plain = tile.a_in_place && tile.b_in_place && plan.problem.alpha != 0 &&
                        plan.problem.epilogue == Epilogue{};
  const bool is_empty = operands.c.rows == 0 || operands.c.cols == 0 || operands.a.cols == 0;
  if (!is_one_item || !is_plain || is_empty || !is_small(operands)) return false;

  const Product product = product_of(operands, tile, plan.problem.epilogue, code);
  if (!product.a_in_place || !product.b_in_place || !product.sums_in_c()) return false;
  BlockTask task;
  task.rows = product.c.rows;
  task.cols = product.c.cols;
  task.depth = product.depth();
  task.a = {product.a.data, true, product.a.row_stride, product.a.col_stride};
  task.b = {product.b.data, true, 1, product.b.row_stride};
  task.sum = product.c.data;
  task.sum_stride = product.c.row_stride;
  task.alpha = plan.problem.alpha;
  task.beta = plan.problem.beta;
  product.code->multiply(task);
  return true;
}

}  // namespace tessera::cpu
