#include "cpu/nearest_cache.hpp"

#include <unistd.h>

#include <array>

#include "cpu/cache_line.hpp"

namespace tessera::cpu {

int nearest_cache_ways() {
  static const long ways = [] {
#ifdef _SC_LEVEL1_DCACHE_ASSOC
    return sysconf(_SC_LEVEL1_DCACHE_ASSOC);
#else
    return 0L;
#endif
  }();
  return ways > 0 ? static_cast<int>(ways) : 8;
}

bool rows_keep_apart(const ConstMatrixView& view, std::int64_t rows, int most) {
  constexpr auto kSetBytes = static_cast<std::int64_t>(kNearestSetBytes);
  std::array<int, kSetBytes / kCacheLine> in_set = {};
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t offset = row * view.row_stride * size_of(view.type) & (kSetBytes - 1);
    if (++in_set[static_cast<std::size_t>(offset) / kCacheLine] > most) return false;
  }
  return true;
}

}  // namespace tessera::cpu
