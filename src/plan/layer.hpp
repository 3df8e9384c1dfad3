// Layers of experts: many products by weights of one size, whose rows a router deals out. What
// suits them on a GPU is said by rules, for a model of waves is upset by sizes that nobody knows,
// or that leave tiles of many widths.
#pragma once

#include <cstdint>
#include <optional>

#include "core/catalogue.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"
#include "tessera/problem.hpp"

namespace tessera {

// What the rules ask of a layer; there is a group.
struct Layer {
  std::int64_t mean_rows = 0;
  std::int64_t k = 0;
};

Layer layer_of(const Problem& problem);

struct LayerChoice {
  const KernelEntry* kernel = nullptr;
  std::optional<ScheduleKind> schedule;  // none: too few tiles, so that the model chooses
  std::optional<TileOrderChoice> order;
};

// Nothing where the machine has no such kernel, or it cannot read the operands where they lie.
// Products differ in m alone; `cuts_rows`: they are parts of one matrix's rows, cut by offsets,
// whose tiles cost least to find (schedule/cut_rows.hpp).
std::optional<LayerChoice> choose_for_layer(const Problem& problem, const Machine& machine,
                                            bool cuts_rows);

// Whether the caller leaves open what choose_for_layer chooses.
bool leaves_open(const PlanOptions& options);

// The choice for products whose sizes are known, if they make a layer of more than a few tiles,
// whose C is no wider than its inputs, and the caller leaves it open.
std::optional<LayerChoice> choose_if_layer(const Problem& problem, const Machine& machine,
                                           const PlanOptions& options);

// make_plan within a choice.
Plan make_plan(const Problem& problem, const Machine& machine, const PlanOptions& options,
               const std::optional<LayerChoice>& layer);

}  // namespace tessera
