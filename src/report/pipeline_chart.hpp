// The pipeline's stages over time: when each stage's blocks are loaded, wait, and are multiplied,
// for the first few iterations of one worker.
#pragma once

#include <string>
#include <vector>

namespace tessera::report {

// What one MAC iteration of a worker costs, in seconds.
struct PipelineTimes {
  double latency = 0;   // from asking for a block to its first byte
  double transfer = 0;  // its bytes over the worker's share of the bandwidth
  double multiply = 0;
};

struct PipelineEvent {
  int stage = 0;
  int iteration = 0;
  double asked = 0;
  double arrived = 0;
  double begun = 0;  // multiplying
  double done = 0;
};

// A stage is asked for as soon as it is free and the path to memory is; it is multiplied when it
// has arrived and the one before is done.
std::vector<PipelineEvent> pipeline_events(const PipelineTimes& times, int stages, int iterations);

struct PipelineChart {
  PipelineTimes times;
  int stages = 1;
  int iterations = 12;
  std::string title;
  std::string subtitle;
  double horizon = 0;  // seconds at the right border; 0: the end of the last iteration
};

std::string pipeline_chart(const PipelineChart& chart);

}  // namespace tessera::report
