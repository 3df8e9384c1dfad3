#include "plan/layer.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "plan/scratchpad.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera {
namespace {

std::int64_t tiles_of_128(const Problem& problem) {
  std::int64_t tiles = 0;
  for (const GemmShape& shape : problem.groups) {
    tiles += ceil_div(shape.m, 128) * ceil_div(shape.n, 128);
  }
  return tiles;
}

constexpr std::int64_t kShortK = 1024;
constexpr std::int64_t kLongK = 4096;
constexpr std::int64_t kBandK = 8192;
constexpr std::int64_t kFullRows = 2048;  // of an average group

// Whether tokens that need more than a tile do best with tiles in turns. Where offsets cut them, no
// tile waits for a record, and turns pay longer. Between the two limits of k, wide tiles in bands
// of eight draw less power (docs/grouped.md).
bool suits_turns(std::int64_t mean_rows, std::int64_t k, bool cuts_rows) {
  constexpr std::int64_t kLongRows = 1024;
  constexpr std::int64_t kTurnsK = 2048;
  const bool is_full = mean_rows >= kFullRows;
  if (!cuts_rows) return k <= (is_full ? kLongK : kShortK);
  return k <= (mean_rows >= kLongRows ? kLongK : kTurnsK) || (is_full && k > kBandK);
}

bool is_layer(const Problem& problem, const Machine& machine) {
  // Weights as experts have them; smaller ones make few tiles of this size, or short ones.
  constexpr std::int64_t kLeastN = 1024;
  constexpr std::int64_t kLeastK = 512;
  if (problem.groups.size() < 2 || problem.types.c != problem.types.a) return false;
  const GemmShape& first = problem.groups.front();
  const bool alike = std::ranges::all_of(problem.groups, [&](const GemmShape& shape) {
    return shape.n == first.n && shape.k == first.k;
  });
  return alike && first.n >= kLeastN && first.k >= kLeastK &&
         tiles_of_128(problem) >= machine.workers;
}

}  // namespace

Layer layer_of(const Problem& problem) {
  std::int64_t rows = 0;
  for (const GemmShape& shape : problem.groups) rows += shape.m;
  return {rows / static_cast<std::int64_t>(problem.groups.size()), problem.groups.front().k};
}

bool leaves_open(const PlanOptions& options) {
  return !options.schedule && !options.splits && !options.batch_invariant && !options.kernel &&
         !options.tile && !options.order && !options.workers;
}

// Measured over skewed groups, these do best, or within a few percent (docs/grouped.md).
std::optional<LayerChoice> choose_for_layer(const Problem& problem, const Machine& machine,
                                            bool cuts_rows) {
  // Rows of an average group.
  constexpr std::int64_t kLeastRows = 4;
  constexpr std::int64_t kFewRows = 32;
  constexpr std::int64_t kManyRows = 96;
  constexpr std::int64_t kMostRows = 192;
  const auto [mean, k] = layer_of(problem);

  // Tokens lie along wgmma's N, so that a group's last tile is no wider than it is. Weights that
  // stream past few rows want many of their bytes on the way: narrow tiles have the most stages.
  // With a short k a tile is soon done, and many narrow ones cost more than wide ones. Where its
  // end takes a share of its time, tiles are taken in turns; elsewhere wide ones move fewer bytes,
  // and at the power limit those are time. A pair of tiles of weights shares nothing but the rows:
  // few are no gain.
  const bool is_full = mean >= kFullRows;
  const bool in_turns = mean >= kMostRows && suits_turns(mean, k, cuts_rows);
  const KernelEntry* const kernel =
      find_kernel("sm90_" + std::string(name_of(problem.types.a)) +
                  (in_turns            ? "_160x128x64_turns_swapped_1x2"
                   : mean >= kMostRows ? "_256x128x64_swapped_1x2"
                   : mean >= kManyRows ? "_192x128x64_swapped_1x2"
                   : mean > kFewRows || (mean > kLeastRows && k <= kShortK) ? "_128x128x64_swapped"
                   : mean > kLeastRows ? "_64x128x64_swapped_1x2"
                                       : "_64x128x64_swapped"));
  if (kernel == nullptr || why_not(*kernel, problem, machine) ||
      why_not_in_place(*kernel, problem)) {
    return std::nullopt;
  }
  const TileConfig& tile = kernel->tile;
  const std::int64_t epilogue = epilogue_bytes(kernel, tile, problem.types);
  if (why_not_resident(scratchpad_use(tile, problem.types, epilogue), machine)) return std::nullopt;
  LayerChoice choice{kernel, std::nullopt, std::nullopt};
  // So few tiles that their k has to be shared out: the model's choice.
  if (tiles_of_128(problem) < machine.workers / 2) return choice;
  choice.schedule = ScheduleKind::data_parallel;
  // Tokens of a few weights' tiles one after another: those are read from memory once. Tokens are
  // read once for each such band, unless all of a group's stay in the cache: then one tile of
  // weights is enough. Few bands suit those that do not stay.
  int band = mean < kMostRows || is_full ? 4 : 1;
  if (is_full && k > kLongK && k <= kBandK) band = 8;
  choice.order = TileOrderChoice{TileOrder::swizzle, band};
  return choice;
}

std::optional<LayerChoice> choose_if_layer(const Problem& problem, const Machine& machine,
                                           const PlanOptions& options) {
  if (!leaves_open(options) || !is_layer(problem, machine)) return std::nullopt;
  return choose_for_layer(problem, machine, false);
}

}  // namespace tessera
