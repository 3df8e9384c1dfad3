// Copies of operands that the tensor memory accelerator cannot read where they lie, made in the
// workspace by one pass at the memory's pace before the Hopper kernel (core/operand_copies.hpp says
// which, and how they lie).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "tessera/plan.hpp"

namespace tessera::cuda {

// Of all copies that a plan's kernel reads.
std::size_t copy_bytes(const Plan& plan);

// Queues the copying, and returns the operands to go on with. `to` has copy_bytes, aligned to 128.
std::vector<Operands> copy_operands(const Plan& plan, std::span<const Operands> groups,
                                    std::byte* to, cudaStream_t stream);

}  // namespace tessera::cuda
