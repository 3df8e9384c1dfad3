#include "ragged_sizes.hpp"

#include <algorithm>
#include <string>

#include "core/invalid_argument.hpp"

namespace tessera {
namespace {

constexpr const char* kOffsetsRemedy = "pass the running sum of the groups' sizes";

void check_memory(const char* argument, const IndexArray& array) {
  if (array.size > 0 && array.data == nullptr) {
    fail_argument(argument, "point to " + std::to_string(array.size) + " numbers", "a null pointer",
                  "pass the sizes");
  }
  const std::uintptr_t size = array.type == IndexType::i64 ? 8 : 4;
  const std::uintptr_t excess = reinterpret_cast<std::uintptr_t>(array.data) % size;
  if (excess != 0) {
    fail_argument(argument, "be aligned to its numbers' " + std::to_string(size) + " bytes",
                  "an address that is " + std::to_string(excess) + " bytes past such a boundary",
                  "copy the numbers to aligned memory");
  }
}

void check_one_per_group(const char* argument, const IndexArray& array, std::int64_t groups) {
  if (array.size != groups) {
    fail_argument(argument, "have one number per group, " + std::to_string(groups),
                  std::to_string(array.size), "pass one for each group");
  }
  check_memory(argument, array);
}

[[noreturn]] void report_segment(const GroupSizes& sizes, std::int64_t group, SizeFault fault,
                                 std::int64_t length) {
  const auto named = [](std::int64_t at) { return "offsets[" + std::to_string(at) + "]"; };
  const std::int64_t end = group + (sizes.has_ends_only ? 0 : 1);
  const std::string given = std::to_string(sizes.end_of(group));
  if (fault == SizeFault::negative) {
    fail_argument(named(group), "be at least 0", std::to_string(sizes.begin_of(group)),
                  kOffsetsRemedy);
  }
  if (fault == SizeFault::falls) {
    fail_argument(named(end),
                  "be at least where the group begins, " + std::to_string(sizes.begin_of(group)),
                  given, kOffsetsRemedy);
  }
  fail_argument(named(end), "be at most the length that is divided, " + std::to_string(length),
                given, kOffsetsRemedy);
}

}  // namespace

IndexList list_of(const IndexArray& array) {
  return {array.data, array.type == IndexType::i64};
}

GroupSizes view_segments(SizeSource source, const IndexArray& offsets, std::int64_t groups,
                         const GemmShape& bound) {
  if (offsets.size != groups && offsets.size != groups + 1) {
    fail_argument("offsets",
                  "have " + std::to_string(groups + 1) + " numbers, or the " +
                      std::to_string(groups) + " ends of the groups",
                  std::to_string(offsets.size), kOffsetsRemedy);
  }
  check_memory("offsets", offsets);
  return {.source = source,
          .has_ends_only = offsets.size == groups,
          .groups = static_cast<std::int32_t>(groups),
          .bound_m = bound.m,
          .bound_n = bound.n,
          .bound_k = bound.k,
          .values = list_of(offsets)};
}

GroupSizes read_segments(SizeSource source, const IndexArray& offsets, std::int64_t groups,
                         const GemmShape& bound) {
  const GroupSizes sizes = view_segments(source, offsets, groups, bound);
  const std::int64_t length = source == SizeSource::row_segments ? bound.m : bound.k;
  for (std::int64_t group = 0; group < groups; ++group) {
    const SizeFault fault = sizes.fault(group);
    if (fault != SizeFault::none) report_segment(sizes, group, fault, length);
  }
  return sizes;
}

GroupSizes view_counts(const IndexArray& counts, std::int64_t groups, const GemmShape& bound) {
  check_one_per_group("counts", counts, groups);
  return {.source = SizeSource::row_counts,
          .groups = static_cast<std::int32_t>(groups),
          .bound_m = bound.m,
          .bound_n = bound.n,
          .bound_k = bound.k,
          .values = list_of(counts)};
}

GroupSizes read_counts(const IndexArray& counts, std::int64_t groups, const GemmShape& bound) {
  const GroupSizes sizes = view_counts(counts, groups, bound);
  for (std::int64_t group = 0; group < groups; ++group) {
    if (sizes.fault(group) == SizeFault::none) continue;
    fail_argument(
        "counts[" + std::to_string(group) + "]", "lie between 0 and " + std::to_string(bound.m),
        std::to_string(sizes.values[group]), "pass how many of the group's rows are there");
  }
  return sizes;
}

GroupSizes view_sizes(const PointerArray& array) {
  check_one_per_group("m", array.m, array.groups);
  check_one_per_group("n", array.n, array.groups);
  check_one_per_group("k", array.k, array.groups);
  check_one_per_group("lda", array.lda, array.groups);
  check_one_per_group("ldb", array.ldb, array.groups);
  check_one_per_group("ldc", array.ldc, array.groups);
  return {.source = SizeSource::each,
          .groups = static_cast<std::int32_t>(array.groups),
          .bound_m = array.bound.m,
          .bound_n = array.bound.n,
          .bound_k = array.bound.k,
          .values = list_of(array.m),
          .n_values = list_of(array.n),
          .k_values = list_of(array.k)};
}

GroupSizes read_sizes(const PointerArray& array) {
  const GemmShape& bound = array.bound;
  const GroupSizes sizes = view_sizes(array);
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const SizeFault fault = sizes.fault(group);
    if (fault == SizeFault::none) continue;
    fail_argument("the size of group " + std::to_string(group),
                  fault == SizeFault::negative ? "be at least 0 on each side"
                                               : "be within the bound, " + shape_text(bound),
                  shape_text({sizes.values[group], sizes.n_values[group], sizes.k_values[group]}),
                  "pass its true size, or a larger bound");
  }
  return sizes;
}

std::vector<std::int64_t> even_offsets(std::int64_t total, std::int64_t groups) {
  std::vector<std::int64_t> offsets = {0};
  offsets.reserve(static_cast<std::size_t>(groups) + 1);
  for (std::int64_t group = 0; group < groups; ++group) {
    offsets.push_back(offsets.back() + total / groups + (group < total % groups ? 1 : 0));
  }
  return offsets;
}

}  // namespace tessera
