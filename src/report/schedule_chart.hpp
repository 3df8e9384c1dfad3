// The schedule as a picture: workers down, MAC iterations across. Pieces of one shared tile have
// one colour, whole tiles are grey, and a line runs from where a partial sum is published to where
// it is added; or, where the peers of a tile meet, through all of them at the moment when the last
// has come. However large the schedule, the picture has a bounded number of elements: what is too
// narrow to see is merged, workers beyond the last row are left out, and `note` says so.
#pragma once

#include <string>

#include "schedule/fix_up_of.hpp"
#include "schedule/iteration_space.hpp"
#include "schedule/partition.hpp"

namespace tessera::report {

struct ScheduleChartOptions {
  double width = 960;
  double height = 600;  // of the rows together, as far as their limits allow
  std::int32_t most_workers = 160;
  double horizon = 0;        // iterations at the right border; 0: the longest row
  bool names_items = false;  // writes tile and iterations into each item that has room
  std::string title;         // above the picture; empty: none
  std::string subtitle;
  double least_width = 720;  // see Svg
  bool is_small = false;     // no axis titles, no tips: one of several side by side
};

struct ScheduleChart {
  std::string svg;
  std::string note;  // what was left out or merged; empty: nothing
};

ScheduleChart schedule_chart(const IterationSpace& space, const Partition& partition, FixUp fix_up,
                             const ScheduleChartOptions& options = {});

}  // namespace tessera::report
