// Builds the iteration space of a list of products on the host. (On the device the same extents are
// built by a kernel's prologue with make_extent.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/iteration_space.hpp"
#include "tessera/problem.hpp"
#include "tessera/tile_config.hpp"

namespace tessera {

// Owns the extents that an IterationSpace views.
class HostIterationSpace {
 public:
  HostIterationSpace(std::span<const GemmShape> groups, const TileConfig& tile);

  const IterationSpace& space() const { return space_; }
  operator const IterationSpace&() const { return space_; }

  HostIterationSpace(const HostIterationSpace&) = delete;
  HostIterationSpace& operator=(const HostIterationSpace&) = delete;

 private:
  std::vector<GroupExtent> extents_;
  IterationSpace space_;
};

}  // namespace tessera
