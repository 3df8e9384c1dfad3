// Sizes in arrays give the same line, and the same work, as the same sizes in a list of products.
#include "schedule/group_line.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/grouped.hpp"
#include "schedule/partition.hpp"

namespace tessera {
namespace {

// As the threads of a block do it: each its run, then a Hillis-Steele scan over the lanes, then
// each its extents.
class LaneLine {
 public:
  LaneLine(const GroupSizes& sizes, const LineTile& tile, std::int32_t lanes) {
    std::vector<LineTotals> scan;
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      scan.push_back(line_totals(sizes, tile, groups_of_lane(sizes.groups, lanes, lane)));
    }
    for (std::size_t step = 1; step < scan.size(); step *= 2) {
      const std::vector<LineTotals> former = scan;
      for (std::size_t lane = step; lane < scan.size(); ++lane) {
        scan[lane] = former[lane - step] + former[lane];
      }
    }
    // One too many: a write past the last group must show.
    extents_.resize(static_cast<std::size_t>(sizes.groups) + 1, {-7, -7, -7, -7, -7});
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      const auto at = static_cast<std::size_t>(lane);
      const LineTotals after =
          write_extents(sizes, tile, groups_of_lane(sizes.groups, lanes, lane),
                        lane == 0 ? LineTotals{} : scan[at - 1], extents_.data());
      EXPECT_EQ(after.iterations, scan[at].iterations) << "lane " << lane;
    }
    EXPECT_EQ(extents_.back().grid_m, -7);
    space_ = {extents_.data(), sizes.groups, scan.back().tiles, scan.back().iterations};
  }

  const IterationSpace& space() const { return space_; }

 private:
  std::vector<GroupExtent> extents_;
  IterationSpace space_;
};

bool same_item(const WorkItem& p, const WorkItem& q) {
  return p.group == q.group && p.tile_m == q.tile_m && p.tile_n == q.tile_n &&
         p.k_begin == q.k_begin && p.k_end == q.k_end && p.peers == q.peers && p.peer == q.peer &&
         p.counter == q.counter && p.first_slot == q.first_slot && p.next_slot == q.next_slot &&
         p.slot_stride == q.slot_stride;
}

std::vector<WorkItem> items(const IterationSpace& space, const Schedule& schedule) {
  const Partition partition = make_partition(schedule, space);
  std::vector<WorkItem> all;
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    for (const WorkItem& item : items_of(space, partition, worker)) all.push_back(item);
  }
  return all;
}

// Any array of sizes, and the list of products that it stands for.
struct AnySizes {
  GroupSizes sizes;
  std::vector<std::int64_t> wide[3];
  std::vector<std::int32_t> narrow;
  std::vector<GemmShape> shapes;
};

int any_size(int most) {
  // Half of the groups are empty or a single element.
  return *rc::gen::weightedOneOf<int>(
      {{1, rc::gen::inRange(0, 2)}, {1, rc::gen::inRange(0, most)}});
}

void draw_segments(AnySizes& any, bool is_depth) {
  any.sizes.has_ends_only = *rc::gen::arbitrary<bool>();
  std::int64_t at = any.sizes.has_ends_only ? 0 : any_size(9);
  if (!any.sizes.has_ends_only) any.wide[0].push_back(at);
  for (std::int32_t group = 0; group < any.sizes.groups; ++group) {
    const std::int64_t length = any_size(70);
    at += length;
    any.wide[0].push_back(at);
    any.shapes.push_back(is_depth ? GemmShape{any.sizes.bound_m, any.sizes.bound_n, length}
                                  : GemmShape{length, any.sizes.bound_n, any.sizes.bound_k});
  }
  (is_depth ? any.sizes.bound_k : any.sizes.bound_m) = at + any_size(9);
}

void draw(AnySizes& any) {
  GroupSizes& sizes = any.sizes;
  sizes.source =
      *rc::gen::element(SizeSource::uniform, SizeSource::row_segments, SizeSource::row_counts,
                        SizeSource::depth_segments, SizeSource::each);
  sizes.groups = *rc::gen::weightedOneOf<int>(
      {{8, rc::gen::inRange(0, 40)}, {1, rc::gen::element(128, 4095, 4096)}});
  sizes.bound_m = any_size(60);
  sizes.bound_n = any_size(60);
  sizes.bound_k = any_size(60);
  switch (sizes.source) {
    case SizeSource::uniform:
      any.shapes.assign(static_cast<std::size_t>(sizes.groups),
                        {sizes.bound_m, sizes.bound_n, sizes.bound_k});
      break;
    case SizeSource::row_segments:
      draw_segments(any, false);
      break;
    case SizeSource::depth_segments:
      draw_segments(any, true);
      break;
    case SizeSource::row_counts:
      for (std::int32_t group = 0; group < sizes.groups; ++group) {
        any.wide[0].push_back(any_size(static_cast<int>(sizes.bound_m) + 1) % (sizes.bound_m + 1));
        any.shapes.push_back({any.wide[0].back(), sizes.bound_n, sizes.bound_k});
      }
      break;
    case SizeSource::each:
      sizes.bound_m = sizes.bound_n = sizes.bound_k = 60;
      for (std::int32_t group = 0; group < sizes.groups; ++group) {
        for (auto& values : any.wide) values.push_back(any_size(60));
        any.shapes.push_back({any.wide[0].back(), any.wide[1].back(), any.wide[2].back()});
      }
      break;
  }
  sizes.values = {any.wide[0].data(), true};
  sizes.n_values = {any.wide[1].data(), true};
  sizes.k_values = {any.wide[2].data(), true};
  if (*rc::gen::arbitrary<bool>()) {
    for (const std::int64_t value : any.wide[0]) {
      any.narrow.push_back(static_cast<std::int32_t>(value));
    }
    sizes.values = {any.narrow.data(), false};
  }
}

RC_GTEST_PROP(GroupLine, GivesTheWorkOfTheListOfProducts, ()) {
  AnySizes any;
  draw(any);
  const LineTile tile{*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 20), *rc::gen::inRange(1, 20)};
  Schedule schedule;
  schedule.kind = *rc::gen::element(ScheduleKind::data_parallel, ScheduleKind::split_k,
                                    ScheduleKind::stream_k, ScheduleKind::hybrid);
  schedule.workers = *rc::gen::inRange(1, 40);
  schedule.splits = *rc::gen::inRange(1, 5);
  schedule.order = *rc::gen::element(TileOrder::linear, TileOrder::swizzle, TileOrder::hilbert);
  schedule.group_m = 3;
  const std::int32_t lanes = *rc::gen::element(1, 2, 32, 33, 256, 1024);

  const HostIterationSpace host(
      any.shapes, {.block_m = tile.block_m, .block_n = tile.block_n, .block_k = tile.block_k});
  const LaneLine line(any.sizes, tile, lanes);
  RC_ASSERT(line.space().group_count == host.space().group_count);
  RC_ASSERT(line.space().tiles == host.space().tiles);
  RC_ASSERT(line.space().iterations == host.space().iterations);
  RC_ASSERT(fault_of_run(any.sizes, {0, any.sizes.groups}) == SizeFault::none);
  const std::vector<WorkItem> expected = items(host, schedule);
  const std::vector<WorkItem> found = items(line.space(), schedule);
  RC_ASSERT(std::ranges::equal(found, expected, same_item));
}

RC_GTEST_PROP(GroupLine, NumbersOfAnyKindNeverLeadOutsideTheBounds, ()) {
  const auto number = rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-3, 40),
                                     rc::gen::element(std::numeric_limits<std::int64_t>::min(),
                                                      std::numeric_limits<std::int64_t>::max()));
  GroupSizes sizes;
  sizes.source = *rc::gen::element(SizeSource::row_segments, SizeSource::row_counts,
                                   SizeSource::depth_segments, SizeSource::each);
  sizes.groups = *rc::gen::inRange(0, 20);
  sizes.bound_m = *rc::gen::inRange(0, 30);
  sizes.bound_n = *rc::gen::inRange(0, 30);
  sizes.bound_k = *rc::gen::inRange(0, 30);
  const auto length = static_cast<std::size_t>(sizes.groups) + 1;
  const auto m = *rc::gen::container<std::vector<std::int64_t>>(length, number);
  const auto n = *rc::gen::container<std::vector<std::int64_t>>(length, number);
  sizes.values = {m.data(), true};
  sizes.n_values = {n.data(), true};
  sizes.k_values = {m.data() + 1, true};
  bool all_fit = true;
  for (std::int32_t group = 0; group < sizes.groups; ++group) {
    const GroupSlice slice = sizes.slice(group);
    RC_ASSERT(slice.begin >= 0 && slice.m >= 0 && slice.n >= 0 && slice.k >= 0);
    const bool is_rows = sizes.source == SizeSource::row_segments;
    RC_ASSERT(slice.m + (is_rows ? slice.begin : 0) <= sizes.bound_m);
    RC_ASSERT(slice.n <= sizes.bound_n);
    RC_ASSERT(slice.k + (is_rows ? 0 : slice.begin) <= sizes.bound_k);
    all_fit = all_fit && sizes.fault(group) == SizeFault::none;
  }
  RC_ASSERT(all_fit == (fault_of_run(sizes, {0, sizes.groups}) == SizeFault::none));
  if (all_fit && sizes.source == SizeSource::row_segments && sizes.groups > 0) {
    RC_ASSERT(sizes.slice(0).begin == m.front());
    RC_ASSERT(sizes.slice(sizes.groups - 1).begin + sizes.slice(sizes.groups - 1).m == m.back());
  }
}

TEST(GroupLine, NamesTheFault) {
  const std::vector<std::int32_t> offsets = {-1, 3, 2, 12};
  const GroupSizes sizes{.source = SizeSource::row_segments,
                         .groups = 3,
                         .bound_m = 10,
                         .values = {offsets.data(), false}};
  EXPECT_EQ(sizes.fault(0), SizeFault::negative);
  EXPECT_EQ(sizes.fault(1), SizeFault::falls);
  EXPECT_EQ(sizes.fault(2), SizeFault::too_large);
  EXPECT_EQ(sizes.slice(2).m, 8);
}

}  // namespace
}  // namespace tessera
