// What a Schedule must fulfil before anything runs it.
#pragma once

#include "tessera/schedule.hpp"

namespace tessera {

inline constexpr int kMaxWorkers = 1 << 16;
inline constexpr int kMaxSplits = 1 << 16;

// Throws Error(invalid_argument) that names the field.
void check_schedule(const Schedule& schedule);

}  // namespace tessera
