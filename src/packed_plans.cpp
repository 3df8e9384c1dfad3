// Plans for a B that is packed ahead: which it is packed for, and which it serves.
#include <algorithm>
#include <string>

#include "core/invalid_argument.hpp"
#include "plan_cache.hpp"
#include "tessera/packed.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

PackedMatrix pack_b(ConstMatrixView b, std::int64_t rows) {
  if (rows < 1) {
    fail_argument("rows", "be at least 1", std::to_string(rows),
                  "say how many rows the products' A usually has");
  }
  const GemmShape shape{rows, std::max<std::int64_t>(b.cols, 1), std::max<std::int64_t>(b.rows, 1)};
  Problem problem = dense_problem(shape, gemm_types_for(b.type));
  problem.b = kPackedLayout;
  return pack_b(make_plan(problem, machine_of_calls(kHost)), b);
}

PlanOptions options_for(const PackedMatrix& packed) {
  PlanOptions options;
  options.kernel = packed.kernel();
  options.tile.emplace().block_k = packed.block_k();
  return options;
}

}  // namespace tessera
