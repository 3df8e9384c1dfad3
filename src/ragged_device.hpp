// Products whose sizes stand in device memory: checked as far as views go, planned for sizes that
// are likely, and handed to the CUDA backend unread. ragged.hpp is for the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "core/catalogue.hpp"
#include "cuda/device_groups.hpp"
#include "cuda/run.hpp"
#include "tessera/grouped.hpp"

namespace tessera {

// Sizes without a bound end where coordinates of tiles do.
inline constexpr std::int64_t kLargestSide = kMostTmaSide;

struct DeviceProducts {
  cuda::DeviceGroups groups;
  // Without groups: types, layouts that hold whatever the sizes, scalars and epilogue.
  Problem problem;
  ElementType bias_type = ElementType::f32;
};

// Throws what describe throws, and Error(invalid_argument) for views that do not go together. Costs
// the same for any number of groups.
DeviceProducts device_products(const RaggedProducts& products, double alpha, double beta,
                               const Epilogue& epilogue);

// Plans for sizes as a router makes them: rows (or k) spread over the groups as a flat Dirichlet
// distribution has it, the largest first; every masked group full; every product of an array as
// large as its bound.
Plan make_device_plan(const RaggedProducts& products, double alpha, double beta,
                      const Epilogue& epilogue, const Machine& machine, const PlanOptions& options);

// The same, kept by the calling thread for the next call with the same views.
std::shared_ptr<const Plan> find_or_make_device_plan(const DeviceProducts& products, int ordinal);

// Returns what run_ragged_plan does. Throws Error(invalid_argument) where the views are not those
// of the plan.
const cuda::DeviceLine* run_on_device(const Plan& plan, const DeviceProducts& products,
                                      const RunOptions& options);

std::size_t device_workspace_bytes(const Plan& plan, const RaggedProducts& products);

}  // namespace tessera
