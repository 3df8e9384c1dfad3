#include "schedule/partition_of.hpp"

#include "core/catalogue.hpp"

namespace tessera {

Partition partition_of(const Plan& plan, const IterationSpace& space) {
  return partition_of(plan, plan.schedule, space);
}

Partition partition_of(const Plan& plan, const Schedule& schedule, const IterationSpace& space) {
  const KernelEntry* const kernel = find_kernel(plan.kernel);
  return partition_of(schedule, space, kernel != nullptr && claims_tiles(*kernel, plan.problem));
}

}  // namespace tessera
