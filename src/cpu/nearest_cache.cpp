#include "cpu/nearest_cache.hpp"

#include <unistd.h>

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

}  // namespace tessera::cpu
