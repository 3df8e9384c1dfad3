// Bytes that one launch on a GPU really moved, as the device's own counters tell. Reading them
// takes a profiler's driver: NVIDIA Nsight Compute (`ncu`) runs this command once more as its
// child, for one launch with a cold cache, and prints a table that is read here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct CountedBytes {
  double memory_read = 0;
  double memory_written = 0;
  double cache = 0;  // between the multiprocessors and L2
};

// What was counted, or in a sentence why nothing was.
struct CounterReading {
  std::optional<CountedBytes> counted;
  std::string why_not;
};

// `output`: all that `ncu --csv --print-units base` wrote, lines of the profiled program among it.
CounterReading parse_counters(std::string_view output);

// Profiles the first launch of this very command with the given arguments. `ncu` is looked for on
// PATH, then in the CUDA toolkit's usual folder.
CounterReading count_first_launch(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
