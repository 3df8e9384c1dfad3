// Machine descriptions from anywhere: refused with an Error, or read and written without loss.
#include "tessera/machine.hpp"
#include "tests/fuzz/fuzz.hpp"

TESSERA_FUZZ(bytes) {
  const tessera::Machine machine = tessera::machine_from_json(bytes);
  const std::string written = tessera::to_json(machine);
  tessera::fuzz::require(tessera::to_json(tessera::machine_from_json(written)) == written);
}
