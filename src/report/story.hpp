// The story of one plan: every number that `tessera explain` tells, asked from the planner's own
// functions. story_text.cpp prints it on a terminal, story_page.cpp makes a page of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/scratchpad.hpp"
#include "plan/traffic.hpp"
#include "report/pipeline_chart.hpp"
#include "report/schedule_rows.hpp"
#include "tessera/plan.hpp"
#include "tessera/trace.hpp"

namespace tessera::report {

// One way to walk the tiles, and what its first wave fetches.
struct OrderStory {
  TileOrderChoice order;
  std::string name;  // "swizzle(8)"
  BlockCount blocks;
  bool is_chosen = false;
};

// The same tiles, divided in another way.
struct CutStory {
  Schedule schedule;
  std::string name;
  ScheduleFacts facts;
  double seconds = 0;  // predicted
  bool is_chosen = false;
};

// A candidate that was costed and lost.
struct LoserStory {
  Candidate candidate;
  std::string cut;  // "hybrid, two-tile"
  double times_as_long = 1;
  std::string why;  // the term that grew most: "imbalance +12.1 µs"
};

struct Story {
  Plan plan;

  // FLOP per byte.
  double naive_intensity = 0;   // one element at a time
  double tile_intensity = 0;    // one tile, every block from memory
  double shared_intensity = 0;  // the whole, with what the shared cache saves
  double bound_intensity = 0;   // every operand read once, C written once
  double ridge = 0;
  // Of the workers that the plan uses.
  double peak_flops_per_second = 0;
  double memory_bytes_per_second = 0;
  double cache_bytes_per_second = 0;
  double predicted_flops_per_second = 0;

  ScratchpadUse scratchpad;
  ScheduleFacts facts;
  bool claims_units = false;
  std::int64_t whole_claims = 0;  // tiles that workers claim as a whole
  double iteration_seconds = 0;
  FixUp fix_up = FixUp::tree;
  double handed_over = 0;           // partial sums in all
  double mean_wait_iterations = 0;  // of a partial sum, until it is added
  std::vector<OrderStory> orders;   // of the first product
  std::int64_t first_wave = 0;      // tiles
  std::vector<CutStory> cuts;       // the chosen one among them
  PipelineTimes pipeline;
  std::vector<LoserStory> losers;  // the best first
  std::vector<Candidate> rejected;

  // What a run added, if there was one.
  std::optional<double> measured_seconds;
  std::optional<Trace> trace;
};

// `plan` has to be made with keep_others for the candidates to be told.
Story tell(const Plan& plan);

struct StoryTextStyle {
  bool colour = false;
  bool unicode = false;
};
std::string story_text(const Story& story, const StoryTextStyle& style);

// `command` is what makes this page again.
std::string story_page(const Story& story, const std::string& command);

}  // namespace tessera::report
