#include "bench/moe.hpp"

#include <algorithm>
#include <map>

#include "tessera/error.hpp"

namespace tessera::bench {

MoeShape moe_shape(const Case& what) {
  MoeShape shape{static_cast<std::int64_t>(what.groups.size()), 0, 0, 0};
  if (!what.groups.empty()) {
    shape.n = what.groups.front().n;
    shape.k = what.groups.front().k;
  }
  for (const GemmShape& group : what.groups) {
    shape.rows += group.m;
    if (group.n == shape.n && group.k == shape.k) continue;
    throw Error(ErrorCode::invalid_argument, "'" + what.name + "'",
                "have groups that differ in m alone",
                std::to_string(group.n) + "x" + std::to_string(group.k) + " beside " +
                    std::to_string(shape.n) + "x" + std::to_string(shape.k),
                "measure it without --suite moe");
  }
  return shape;
}

std::vector<std::int32_t> moe_offsets(const Case& what) {
  std::vector<std::int32_t> offsets = {0};
  for (const GemmShape& group : what.groups) {
    offsets.push_back(offsets.back() + static_cast<std::int32_t>(group.m));
  }
  return offsets;
}

void set_bound(MoeResult& result, const GemmTypes& types, const ProcessorLimits& limits) {
  result.flops = 0;
  result.bytes = 0;
  for (const GemmShape& group : result.what.groups) {
    if (group.m == 0) continue;
    const auto m = static_cast<double>(group.m);
    const auto n = static_cast<double>(group.n);
    const auto k = static_cast<double>(group.k);
    result.flops += 2 * m * n * k;
    result.bytes += m * k * size_of(types.a) + k * n * size_of(types.b) + m * n * size_of(types.c);
  }
  const double multiplying = result.flops / limits.flops_per_second;
  const double moving = result.bytes / limits.bytes_per_second;
  result.bound_seconds = std::max(multiplying, moving);
  result.is_bound_by_memory = moving > multiplying;
}

std::vector<MoePair> moe_pairs(const std::vector<MoeResult>& results) {
  // A case's name ends in how its sizes were drawn.
  const auto layer_of = [](const std::string& name) { return name.substr(0, name.rfind(", ")); };
  std::map<std::string, const MoeResult*> uniform;
  for (const MoeResult& result : results) {
    if (result.what.name.ends_with("uniform")) uniform[layer_of(result.what.name)] = &result;
  }
  std::vector<MoePair> pairs;
  for (const MoeResult& result : results) {
    const auto found = uniform.find(layer_of(result.what.name));
    if (found == uniform.end() || found->second == &result) continue;
    pairs.push_back({found->first, static_cast<std::int64_t>(result.what.groups.size()),
                     result.timings.front().median / found->second->timings.front().median});
  }
  return pairs;
}

}  // namespace tessera::bench
