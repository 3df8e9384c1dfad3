// Memory of a call. What threads share (partial tiles, and who has come with them) is the plan's
// workspace, sized by one function for the query and the launch. What a thread needs for itself
// (packed panels, a tile of sums) stays with the thread and is reused from call to call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/partition.hpp"
#include "tessera/plan.hpp"

namespace tessera::cpu {

// Where things lie in the shared workspace.
struct WorkspaceLayout {
  std::int64_t slots = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t counters = 0;  // SplitTiles's
  std::int64_t tiles = 0;     // that are split, at most
  std::size_t bytes = 0;

  // Where SplitTiles lie in a workspace, which may start anywhere.
  void* split_tiles_in(unsigned char* workspace) const;
};

// Columns of a tile's row of sums, padded so that rows start on cache lines.
inline std::int64_t padded_columns(std::int64_t columns) {
  return (columns + 15) / 16 * 16;
}

WorkspaceLayout workspace_layout(const Plan& plan, const Partition& partition, std::int64_t tiles);

// From here on bytes can no longer be counted, let alone be had.
inline constexpr double kUncountableBytes = 0x1p62;

// So many bytes in whole pages, or from the size of a huge page on in huge pages where the system
// gives them on request; for std::free. Null where there is no memory.
void* allocate_pages(std::size_t bytes);

// A block of memory as allocate_pages gives it, that only ever grows.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `bytes` bytes, with contents undefined after growing; null where there is no memory.
  void* reserve(std::size_t bytes);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// The calling thread's own panels, and its workspace for calls that bring none.
Scratch& thread_panels();
Scratch& thread_workspace();

}  // namespace tessera::cpu
