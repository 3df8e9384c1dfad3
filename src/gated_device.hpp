// The gated pair on a CUDA device. gated.cpp is for the host.
#pragma once

#include "tessera/grouped.hpp"

namespace tessera {

// The views of `up` fit B's; products are ragged rows, masked rows or a strided batch.
void gated_on_device(const RaggedProducts& products, const ConstBatchView& up,
                     Activation activation, const RunOptions& caller);

}  // namespace tessera
