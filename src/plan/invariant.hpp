// batch_invariant: the choices that fix a row's bits (kernel, block_k, splits) made without looking
// at m, at the other rows or at the other groups.
#pragma once

#include "plan/candidates.hpp"

namespace tessera {

// Leaves the one of a CPU's kernels that is the best over products of few, some and many rows.
void keep_invariant_kernel(const PlanRequest& request, std::vector<const KernelEntry*>& kernels,
                           TileChoices& choices);

// Leaves the one tile that the types and the machine prescribe: the best over products of few, some
// and many rows, whatever the problem's own.
void keep_invariant_tile(const PlanRequest& request, TileChoices& choices);

// The schedule that n and k prescribe for each group. Throws Error(unsupported) where the groups' n
// and k prescribe different ones.
Schedule invariant_schedule(const PlanRequest& request, const TileCandidate& candidate);

}  // namespace tessera
