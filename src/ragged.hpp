// Products whose sizes stand in arrays, as the list of products that they are. The host reads the
// arrays here, so this serves the CPU alone; ragged_device.hpp is for GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/grouped.hpp"

namespace tessera {

// That views go together, whatever the sizes. Throws Error(invalid_argument).
void check_views(const RaggedProducts& products, BiasAxis bias);

// With the sizes found. Throws Error(invalid_argument) for views that do not go together, and for
// the first size that breaks a rule; what describe checks of each product is left to it.
std::vector<Operands> products_of(const RaggedProducts& products, const Epilogue& epilogue);

// What a plan is made for: a total dealt evenly to the groups. Reads no sizes. Throws what describe
// throws.
Problem expected_problem(const RaggedProducts& products, double alpha, double beta,
                         const Epilogue& epilogue);

// Sizes within the views that make the most tiles, whatever a tile's size: what a workspace must do
// for.
std::vector<GemmShape> worst_shapes_of(const RaggedProducts& products, const Problem& expected);

// That the problem found is the planned one but for the sizes that stand in arrays.
void check_sizes_fit(const RaggedProducts& products, const Problem& planned, const Problem& given);

}  // namespace tessera
