// A trace as a picture: threads or SMs down, time across, with each work item's phases.
#pragma once

#include <string>

#include "tessera/trace.hpp"

namespace tessera::report {

struct TimelineChart {
  std::string svg;
  std::string note;   // what was left out or merged; empty: nothing
  std::string words;  // how busy they were, and what held them up
};

struct TimelineOptions {
  double predicted_seconds = 0;  // marked; 0: no mark
  double horizon = 0;            // seconds at the right border; 0: the end of the trace
  std::string title = {};        // above the picture; empty: none
  std::string track = "thread";  // what a track is where the trace does not say which SM it was
};

TimelineChart timeline_chart(const Trace& trace, const TimelineOptions& options);

// Shares of the time of all threads or SMs.
struct TraceFacts {
  double multiplying = 0;
  double data = 0;    // packing, or waiting for blocks
  double adding = 0;  // fix-up and writing tiles that were shared
  double idle = 0;
  std::int64_t items = 0;
  std::int64_t taken_over = 0;  // of them: what one thread took of another's tile, on a CPU
};
TraceFacts trace_facts(const Trace& trace);

}  // namespace tessera::report
