// Sizes in device memory, through every door of grouped.hpp and every kernel and schedule: each
// element within its error bound, and nothing outside the groups touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "cuda/ragged_case.hpp"

namespace tessera::test {
namespace {

class Ragged : public CudaTest, public ::testing::WithParamInterface<KernelEntry> {
 protected:
  const KernelEntry& kernel() const { return GetParam(); }
  GemmTypes types() const { return {kernel().a, kernel().b, gemm_types_for(kernel().a).c}; }
  // What TMA wants of a line's length.
  std::int64_t unit() const { return 16 / size_of(kernel().a); }

  std::vector<Schedule> schedules() const {
    using enum ScheduleKind;
    const int processors = device_under_test().workers / kernel().tile.cluster_m;
    return {{.kind = data_parallel, .workers = processors},
            {.kind = stream_k, .workers = processors},
            {.kind = hybrid, .workers = 7},
            {.kind = split_k, .workers = processors, .splits = 3}};
  }

  // False where the kernel cannot take the operands.
  bool expect_right(const RaggedCase& what, const Schedule& schedule) {
    DeviceRagged ragged(what);
    const auto plan = forced_ragged_plan(ragged, kernel(), schedule);
    if (!plan) return false;
    run_ragged(*plan, ragged.products());
    check(cudaDeviceSynchronize());
    std::ostringstream text;
    text << "door " << static_cast<int>(what.door) << " groups " << what.shapes.size() << " beta "
         << what.beta << " schedule " << name_of(schedule.kind) << " B "
         << (what.is_b_transposed ? "transposed" : "as is") << " C "
         << (what.is_c_transposed ? "transposed" : "as is");
    EXPECT_EQ(ragged.verdict(64), "") << text.str();
    return true;
  }

  std::vector<GemmShape> rows_of(std::int64_t groups, std::int64_t most, std::int64_t n,
                                 std::int64_t k, std::uint64_t seed) const {
    std::vector<GemmShape> shapes;
    for (const std::int64_t m : draw_sizes(groups, most, seed)) shapes.push_back({m, n, k});
    return shapes;
  }
};

TEST_P(Ragged, Rows) {
  std::uint64_t seed = 0;
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t groups : {1, 5, 37, 150}) {
      ++seed;
      const bool flip = seed % 2 == 0;
      RaggedCase what{.door = DoorKind::rows,
                      .types = types(),
                      .shapes = rows_of(groups, groups > 40 ? 70 : 300, 16 * unit() + 8 * unit(),
                                        9 * unit() * (seed % 3 + 1), seed),
                      .first = seed % 3 == 0 ? 5 : 0,
                      .is_b_transposed = flip,
                      .index = flip ? IndexType::i64 : IndexType::i32,
                      .beta = seed % 4 == 3 ? 1.0 : 0.0,
                      .seed = seed};
      what.has_ends_only = what.first == 0 && flip;
      if (seed % 5 == 0) {
        for (const GemmShape& shape : what.shapes) what.capacity += shape.m;
        what.capacity += what.first + 11;
      }
      expect_right(what, schedule);
    }
  }
}

// Several tiles along either side of a group, whose widths the Hopper kernels even out.
TEST_P(Ragged, RowsOfSeveralTiles) {
  for (const Schedule& schedule : schedules()) {
    for (const bool is_c_transposed : {false, true}) {
      RaggedCase what{.door = DoorKind::rows,
                      .types = types(),
                      .shapes = rows_of(5, 900, 149 * unit(), 20 * unit(), 21),
                      .is_c_transposed = is_c_transposed,
                      .beta = is_c_transposed ? 0.0 : 1.0};
      what.shapes.push_back({8 * 65, 149 * unit(), 20 * unit()});
      std::int64_t sum = 0;
      for (const GemmShape& shape : what.shapes) sum += shape.m;
      what.capacity = (sum + 15) / 16 * 16;
      expect_right(what, schedule);
      what.beta = 0;
      expect_right(what, schedule);
    }
  }
}

// With a k of whole blocks one tensor map serves the weights of all groups either way round.
TEST_P(Ragged, RowsOfWholeBlocksOfK) {
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t groups : {3, 100}) {
      for (const bool is_b_transposed : {false, true}) {
        expect_right({.door = DoorKind::rows,
                      .types = types(),
                      .shapes = rows_of(groups, groups > 40 ? 90 : 600, 40 * unit(), 320, 31),
                      .first = 3,
                      .is_b_transposed = is_b_transposed},
                     schedule);
      }
    }
  }
}

TEST_P(Ragged, RowsWithEpilogue) {
  for (const Schedule& schedule : schedules()) {
    const bool is_float = types().c != ElementType::i32;
    expect_right({.door = DoorKind::rows,
                  .types = types(),
                  .shapes = rows_of(23, 200, 24 * unit(), 20 * unit(), 9),
                  .epilogue = {.bias = BiasAxis::column,
                               .activation = is_float ? Activation::silu : Activation::relu}},
                 schedule);
  }
}

// C, or A, in columns: the groups' edges lie on the dense side.
TEST_P(Ragged, ColumnMajor) {
  for (const Schedule& schedule : schedules()) {
    RaggedCase what{.door = DoorKind::rows,
                    .types = types(),
                    .shapes = rows_of(19, 150, 24 * unit(), 20 * unit(), 11),
                    .is_c_transposed = true};
    std::int64_t sum = 0;
    for (const GemmShape& shape : what.shapes) sum += shape.m;
    what.capacity = (sum + 15) / 16 * 16;
    expect_right(what, schedule);
    what.is_c_transposed = false;
    what.is_a_transposed = true;
    expect_right(what, schedule);
  }
}

TEST_P(Ragged, Masked) {
  std::uint64_t seed = 100;
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t groups : {1, 9, 64}) {
      ++seed;
      expect_right({.door = DoorKind::masked,
                    .types = types(),
                    .shapes = rows_of(groups, 96, 24 * unit(), 17 * unit(), seed),
                    .capacity = 96,
                    .is_b_transposed = seed % 2 == 0,
                    .beta = seed % 3 == 0 ? 1.0 : 0.0,
                    .seed = seed},
                   schedule);
    }
  }
}

// Segments of k lie one after another: a neighbour's must never enter a sum. Both sides dense along
// the other axis, as activations lie, and along k.
TEST_P(Ragged, Depth) {
  std::uint64_t seed = 200;
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t groups : {1, 6, 41}) {
      for (const bool along_k : {false, true}) {
        ++seed;
        RaggedCase what{.door = DoorKind::depth,
                        .types = types(),
                        .first = seed % 3 == 0 ? 3 : 0,
                        .is_b_transposed = along_k,
                        .is_a_transposed = !along_k,
                        .beta = seed % 4 == 0 ? 1.0 : 0.0,
                        .seed = seed};
        for (const std::int64_t k : draw_sizes(groups, 300, seed)) {
          what.shapes.push_back({24 * unit(), 20 * unit(), k});
        }
        expect_right(what, schedule);
      }
    }
  }
}

TEST_P(Ragged, Arrays) {
  std::uint64_t seed = 300;
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t groups : {1, 43, 200}) {
      for (const std::int64_t alignment : {0, 16}) {
        ++seed;
        RaggedCase what{.door = DoorKind::array,
                        .types = types(),
                        .is_b_transposed = seed % 2 == 0,
                        .is_a_transposed = seed % 3 == 0,
                        .alignment = alignment,
                        .is_bounded = seed % 2 == 0 || schedule.kind == ScheduleKind::split_k,
                        .index = seed % 2 == 0 ? IndexType::i64 : IndexType::i32,
                        .beta = seed % 4 == 0 ? 1.0 : 0.0,
                        .seed = seed};
        const auto m = draw_sizes(groups, 200, 3 * seed);
        const auto n = draw_sizes(groups, 200, 3 * seed + 1);
        const auto k = draw_sizes(groups, 200, 3 * seed + 2);
        for (std::size_t g = 0; g < m.size(); ++g) what.shapes.push_back({m[g], n[g], k[g]});
        expect_right(what, schedule);
      }
    }
  }
}

// No group has work, or no group is there.
TEST_P(Ragged, Nothing) {
  for (const Schedule& schedule : schedules()) {
    expect_right({.door = DoorKind::rows,
                  .types = types(),
                  .shapes = std::vector<GemmShape>(33, {0, 4 * unit(), 4 * unit()}),
                  .capacity = 50},
                 schedule);
    expect_right({.door = DoorKind::depth,
                  .types = types(),
                  .shapes = std::vector<GemmShape>(3, {4 * unit(), 4 * unit(), 0}),
                  .capacity = 50,
                  .is_a_transposed = true},
                 schedule);
  }
}

TEST_P(Ragged, ThousandsOfGroups) {
  for (const Schedule& schedule : schedules()) {
    if (schedule.kind == ScheduleKind::split_k) continue;
    expect_right({.door = DoorKind::rows,
                  .types = types(),
                  .shapes = rows_of(4096, 6, 4 * unit(), 3 * unit(), 5)},
                 schedule);
  }
}

// Every door once, by few workers and by the kernels that differ in what groups are to them: what
// compute-sanitizer has the patience for.
TEST_P(Ragged, Sanitizer) {
  constexpr std::string_view kShown[] = {"sm90_bf16_256x128x64_swapped_1x2",
                                         "sm90_bf16_128x128x64_turns_swapped_1x2",
                                         "sm90_bf16_160x128x64_turns_swapped_1x2",
                                         "sm90_bf16_64x128x64_swapped_1x2",
                                         "sm90_bf16_128x256x64_1x2",
                                         "sm90_bf16_128x128x64",
                                         "sm80_general_bf16_64x64x64"};
  if (std::ranges::find(kShown, kernel().name) == std::end(kShown)) {
    GTEST_SKIP() << "shown by another kernel";
  }
  const auto sizes = [&](std::int64_t GemmShape::*side) {
    std::vector<GemmShape> shapes;
    for (const std::int64_t size : {70, 0, 3, 131}) {
      shapes.push_back({16 * unit(), 12 * unit(), 9 * unit()});
      shapes.back().*side = size;
    }
    return shapes;
  };
  using enum ScheduleKind;
  for (const Schedule& schedule :
       {Schedule{.kind = data_parallel, .workers = 3}, Schedule{.kind = stream_k, .workers = 5}}) {
    expect_right(
        {.door = DoorKind::rows, .types = types(), .shapes = sizes(&GemmShape::m), .first = 5},
        schedule);
    expect_right({.door = DoorKind::masked,
                  .types = types(),
                  .shapes = sizes(&GemmShape::m),
                  .capacity = 140},
                 schedule);
    expect_right({.door = DoorKind::depth,
                  .types = types(),
                  .shapes = sizes(&GemmShape::k),
                  .is_a_transposed = true},
                 schedule);
    expect_right({.door = DoorKind::array,
                  .types = types(),
                  .shapes = sizes(&GemmShape::m),
                  .alignment = 16},
                 schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Ragged, ::testing::ValuesIn(kernels_under_test()),
                         NameOfKernel{});

}  // namespace
}  // namespace tessera::test
