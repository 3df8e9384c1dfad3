// What a Schedule must fulfil before anything runs it.
#pragma once

#include "core/tile_config.hpp"
#include "tessera/schedule.hpp"

namespace tessera {

// Throws Error(invalid_argument) that names the field. The limits are core/tile_config.hpp's.
void check_schedule(const Schedule& schedule);

}  // namespace tessera
