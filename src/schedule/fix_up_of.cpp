#include "schedule/fix_up_of.hpp"

#include "core/catalogue.hpp"
#include "core/plain_product.hpp"
#include "core/sm90_tiles.hpp"
#include "schedule/fixup_meeting.hpp"
#include "schedule/unit_items.hpp"

namespace tessera {

FixUp fix_up_of(const Sm90Block& block, const Partition& partition, std::int64_t tiles) {
  return has_one_piece_each(partition, tiles) && partition.splits >= block.meets_from()
             ? FixUp::meeting
             : FixUp::tree;
}

FixUp fix_up_of(const Plan& plan, const Partition& partition, const IterationSpace& space) {
  const KernelEntry* const kernel = find_kernel(plan.kernel);
  const bool is_plain = kernel != nullptr && kernel->needs_tma && !kernel->is_for_layers &&
                        suits_plain_kernel(plan.problem) && unit_items(space, partition).count > 0;
  return is_plain ? fix_up_of(sm90_block(kernel->tile), partition, space.tiles) : FixUp::tree;
}

}  // namespace tessera
