#include "plan/worker_time.hpp"

#include <algorithm>

#include "plan/intensity.hpp"
#include "schedule/iteration_space.hpp"

namespace tessera {
namespace {

// The power limit lowers the clock in the course of tens of microseconds, and the less the fewer
// SMs are busy: arithmetic is faster by the first where a product ends at once, by the second on a
// machine that is idle but for one worker, as loads are, which then share no way to the cache.
// H200, 2026-11: 1.98 GHz at first, 1.83 by the data sheet, less in an 8192^3 product.
constexpr double kShortGain = 0.15;
constexpr double kShort = 40e-6;
constexpr double kIdleGain = 0.1;

// What an iteration's loads take longer in a cluster, whose blocks wait for one another at every
// stage, most where they share both operands; arithmetic that takes longer hides it. (A pair's two
// SMs also share a way to the cache, larger clusters ask for less.) H200, 2026-11.
constexpr double kPairLoading = 40e-9;
constexpr double kClusterLoading = 8e-9;
constexpr double kBothSharedLoading = 16e-9;

double cluster_loading(const TileConfig& tile) {
  const int blocks = tile.cluster_m * tile.cluster_n;
  if (blocks <= 2) return blocks == 1 ? 0 : kPairLoading;
  return tile.cluster_m > 1 && tile.cluster_n > 1 ? kBothSharedLoading : kClusterLoading;
}

constexpr double kHalfLines = 1.57;

// Whether rows of blocks lie across more lines than they fill. What is read from a copy is aligned.
bool crosses_lines(const OperandLayout& layout) {
  return layout.alignment < 128 && suits_tma(layout);
}

// What a GPU's cache has to deliver for a byte of an operand whose rows start at such multiples of
// bytes. Fitted on an H200, 2026-11, as are the next constants. Across k, a block that is not whole
// lines wide comes in boxes of half a line.
double lines_per_byte(const OperandLayout& layout, bool is_across_k, int extent) {
  const double boxes = is_across_k && extent % 64 != 0 ? kHalfLines : 1;
  if (!crosses_lines(layout)) return boxes;
  return (layout.alignment >= 32 ? 1.8 : 2.3) * boxes;
}

// Rows that start at odd multiples of 16 bytes come in more pieces of 32.
constexpr double kOddPieces = 1.045;

double pieces_per_byte(const OperandLayout& layout) {
  return layout.alignment < 32 && suits_tma(layout) ? kOddPieces : 1;
}

// What the cache sends to all workers together, as a share of what each of them can receive alone:
// blocks that a cluster multicasts are sent once and received by each.
double shared_output(const TileConfig& tile) {
  return tile.cluster_m * tile.cluster_n <= 2 ? 0.95 : 0.9;
}

// A block of threads asks for a line in so much of the time in which it receives one, whoever else
// is busy.
constexpr double kAskingForLines = 0.75;

// Memory is written at so much of the rate at which it is copied, which counts both ways: tiles in
// turns whose sums are short take as long as that, H200, 2026-11.
constexpr double kWriting = 0.7;

// A byte of C takes so much longer to leave than one of A or B to arrive: nothing overlaps with it.
constexpr double kStoring = 5;

// Bytes of one iteration's blocks that one of a cluster's blocks of threads receives.
double received_bytes(const TileConfig& tile, const Problem& problem) {
  const double rows =
      static_cast<double>(tile.block_m) / tile.cluster_m * pieces_per_byte(problem.a);
  const double cols =
      static_cast<double>(tile.block_n) / tile.cluster_n * pieces_per_byte(problem.b);
  return tile.block_k * (rows * size_of(problem.types.a) + cols * size_of(problem.types.b));
}

// What a block waits longer for a line of a box that lies beyond its operand's edge, and is filled
// with zeros, than for one that is read: 4.5 clocks. H200, 1 and 16 rows of 16384 under tiles of
// 64, 2026-11.
constexpr double kLineOutside = 2.5e-9;

// Lines of one iteration's boxes beyond the operand, of what one block receives, whichever of its
// cluster's blocks asks for them. Only operands that lie along k come in lines across the tile, and
// only those smaller than a block reach beyond: last tiles of plain products are moved back, and
// that those of others wait is left out.
double lines_outside(const GemmShape& shape, const Problem& problem, const TileConfig& tile) {
  const auto beyond = [](std::int64_t size, int block) {
    return static_cast<double>(std::max<std::int64_t>(0, block - size));
  };
  const double rows =
      problem.a.major == Major::row ? beyond(shape.m, tile.block_m / tile.cluster_m) : 0;
  const double cols =
      problem.b.major == Major::row ? 0 : beyond(shape.n, tile.block_n / tile.cluster_n);
  return rows + cols;
}

// The kernels with ordinary loads copy 16 bytes at a time where they can, and single elements where
// rows start anywhere: 0.67 ns per 2-byte element and SM on an H200, 2026-11.
double copies_per_byte(const OperandLayout& layout, bool /*is_across_k*/, int /*extent*/) {
  if (layout.alignment >= 16) return 1;
  return 86.0 / layout.alignment;
}

// Bytes of one iteration's blocks, each operand's weighted by what getting a byte of it takes.
template <class Weight>
double weighted_bytes(const TileConfig& tile, const Problem& problem, Weight weight) {
  const OperandSpecs specs = operand_specs(tile);
  return static_cast<double>(specs.a.elements()) * size_of(problem.types.a) *
             weight(problem.a, problem.a.major != Major::row, tile.block_m / tile.cluster_m) +
         static_cast<double>(specs.b.elements()) * size_of(problem.types.b) *
             weight(problem.b, problem.b.major == Major::row, tile.block_n / tile.cluster_n);
}

// What the cache sends, as a share of the above, of several products: workers that read the same
// blocks are not in step, and each has to be sent its own. H200, 2026-11, layers of experts
// (docs/grouped.md).
constexpr double kApart = 0.6;

double in_step(const Problem& problem) {
  return problem.groups.size() > 1 ? kApart : 1;
}

// A tile of groups' rows as it is computed where workers claim them: all of a product equally wide.
TileConfig narrowed(TileConfig tile, const GemmShape& shape, const Problem& problem,
                    const KernelEntry* kernel) {
  constexpr std::int64_t kStep = 32;
  const bool narrows =
      kernel != nullptr && claims_tiles(*kernel, problem) && tile.swap_operands && shape.m > 0;
  if (!narrows) return tile;
  const std::int64_t rows = ceil_div(shape.m, ceil_div(shape.m, tile.block_m));
  tile.block_m = std::min(tile.block_m, static_cast<int>(ceil_div(rows, kStep) * kStep));
  return tile;
}

}  // namespace

// A GPU's tile always computes all of itself: rows and columns beyond the edge are zeros that cost
// the same. A cluster's blocks work side by side on their shares.
WorkerTime time_on_gpu(const GemmShape& shape, const Problem& problem, const Machine& machine,
                       TileConfig tile, const KernelEntry* kernel, double all_seconds) {
  const KernelSpeed speed = speed_of(kernel);
  tile = narrowed(tile, shape, problem, kernel);
  const double blocks = tile.cluster_m * tile.cluster_n;
  const double rate = machine.peak(problem.types.a) * machine.cost.compute_efficiency * blocks *
                      speed.main_loop_share;
  const double cache_rate = worker_cache_rate(machine) * blocks;
  const double stored = static_cast<double>(tile.block_m) * tile.block_n * size_of(problem.types.c);
  const double c_bytes = stored * (problem.beta != 0 ? 2 : 1);
  WorkerTime time;
  time.arithmetic =
      flops_per_iteration(tile) / (rate * (1 + kShortGain * kShort / (kShort + all_seconds)));
  time.idle_gain = kIdleGain;
  const bool copies = kernel != nullptr && !kernel->needs_tma;
  const double asked = weighted_bytes(tile, problem, lines_per_byte) / blocks;
  time.loading = copies ? weighted_bytes(tile, problem, copies_per_byte) / cache_rate
                        : std::max(received_bytes(tile, problem), kAskingForLines * asked) /
                                  worker_cache_rate(machine) +
                              kLineOutside * lines_outside(shape, problem, tile) +
                              cluster_loading(tile);
  time.shared_loading = asked * blocks / (shared_output(tile) * in_step(problem) * cache_rate);
  time.other = machine.cost.iteration_overhead_seconds;
  time.finish = kStoring * c_bytes / cache_rate + speed.tile_seconds;
  time.shared_storing =
      stored * machine.workers / blocks / (kWriting * machine.memory_bytes_per_second);
  return time;
}

}  // namespace tessera
