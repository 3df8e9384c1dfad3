// The JSON forms that contain one another: a plan holds a machine.
#pragma once

#include <string>

#include "core/json_fields.hpp"
#include "tessera/machine.hpp"

namespace tessera {

json_fields::Json json_of(const Machine& machine);

// `path` is where the document stands in the whole, for messages.
Machine machine_of(const json_fields::Json& document, const std::string& path);

}  // namespace tessera
