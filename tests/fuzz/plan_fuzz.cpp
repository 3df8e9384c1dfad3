// Plans from anywhere: refused with an Error, or read and written without loss.
#include "tessera/plan.hpp"
#include "tests/fuzz/fuzz.hpp"

TESSERA_FUZZ(bytes) {
  const tessera::Plan plan = tessera::plan_from_json(bytes);
  const std::string written = tessera::to_json(plan);
  tessera::fuzz::require(tessera::to_json(tessera::plan_from_json(written)) == written);
}
