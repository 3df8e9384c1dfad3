// Plans for a B that is packed ahead: which it is packed for, and which it serves.
#include <algorithm>
#include <string>

#include "core/catalogue.hpp"
#include "core/invalid_argument.hpp"
#include "core/validate.hpp"
#include "core/view_rules.hpp"
#include "plan_cache.hpp"
#include "tessera/packed.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

PackedMatrix pack_b(ConstMatrixView b, std::int64_t rows) {
  return pack_b(b, rows, b.type);
}

PackedMatrix pack_b(ConstMatrixView b, std::int64_t rows, ElementType type_a) {
  if (rows < 1 || !is_size(rows)) {
    fail_argument("rows", "be from 1 to " + std::to_string(kLargestSize), std::to_string(rows),
                  "say how many rows the products' A usually has");
  }
  const GemmTypes types = gemm_types_for(type_a);
  if (!is_supported(types) || types.b != b.type) {
    fail_argument("B",
                  is_supported(types) ? "be of type " + std::string(name_of(types.b)) +
                                            " where A is of " + std::string(name_of(type_a))
                                      : "be multiplied with an A of a type that products take",
                  "a B of " + std::string(name_of(b.type)) + " beside an A of " +
                      std::string(name_of(type_a)),
                  "name A's type, or convert B");
  }
  const GemmShape shape{rows, std::max<std::int64_t>(b.cols, 1), std::max<std::int64_t>(b.rows, 1)};
  Problem problem = dense_problem(shape, types);
  problem.b = kPackedLayout;
  return pack_b(make_plan(problem, machine_of_calls(kHost)), b);
}

PlanOptions options_for(const PackedMatrix& packed, PlanOptions chosen) {
  if (!chosen.kernel) chosen.kernel = packed.kernel();
  if (!chosen.tile) chosen.tile.emplace();
  if (chosen.tile->block_k == 0) chosen.tile->block_k = packed.block_k();
  return chosen;
}

}  // namespace tessera
