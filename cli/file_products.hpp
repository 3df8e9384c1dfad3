// Products whose operands come from .npy files: each file is checked against the options and
// against the others, and what does not fit is refused by the name of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/group_file.hpp"
#include "cli/workload.hpp"

namespace tessera::cli {

// A, B and C each have a seed of their own.
inline constexpr std::uint64_t kSeedsPerProduct = 3;

struct FileProducts {
  std::vector<Product> products;
  bool is_batch = false;  // from arrays of three dimensions
};

// The product of A and B, or a batch of them where a file has three dimensions; a matrix beside a
// batch serves all of its products.
FileProducts products_from_files(const ProductFiles& files, const WorkloadOptions& options,
                                 std::uint64_t seed);

// One product of a group, which no batch can be.
Product product_from_group(const ProductFiles& files, const WorkloadOptions& options,
                           std::uint64_t seed);

// Reads --bias for all products of the workload, which are of one size.
void add_bias(Workload& workload, const WorkloadOptions& options);

}  // namespace tessera::cli
