// Plans as JSON: a plan made on one machine can be run, or explained, on another.
#include "core/json_documents.hpp"
#include "core/tile_config.hpp"
#include "core/validate.hpp"
#include "tessera/plan.hpp"

namespace tessera {
namespace {

using json_fields::Json;
using json_fields::Object;

constexpr std::int64_t kPlanSchema = 1;
constexpr std::int64_t kMostIterations = std::int64_t{1} << 62;
constexpr std::size_t kMaxGroups = 1 << 20;
constexpr std::size_t kMaxCandidates = 1 << 16;
constexpr std::size_t kMaxTerms = 64;

// Values that their own checks refuse, reported as part of the document.
void check(const std::string& path, const std::optional<std::string>& objection) {
  if (objection) throw Error(ErrorCode::io, path + ": " + *objection + "; correct the file");
}

Json layout_to_json(const OperandLayout& layout) {
  return {{"major", name_of(layout.major)}, {"alignment", layout.alignment}};
}

OperandLayout layout_from_json(Object fields) {
  OperandLayout layout;
  layout.major = fields.named("major", major_from_name);
  layout.alignment = fields.small_integer("alignment", 1, 128);
  fields.finish();
  return layout;
}

Json problem_to_json(const Problem& problem) {
  Json groups = Json::array();
  for (const GemmShape& shape : problem.groups) {
    groups.push_back({{"m", shape.m}, {"n", shape.n}, {"k", shape.k}});
  }
  return {{"types",
           {{"a", name_of(problem.types.a)},
            {"b", name_of(problem.types.b)},
            {"c", name_of(problem.types.c)}}},
          {"groups", std::move(groups)},
          {"a", layout_to_json(problem.a)},
          {"b", layout_to_json(problem.b)},
          {"c", layout_to_json(problem.c)},
          {"alpha", json_fields::number_to_json(problem.alpha)},
          {"beta", json_fields::number_to_json(problem.beta)},
          {"bias", name_of(problem.epilogue.bias)},
          {"activation", name_of(problem.epilogue.activation)}};
}

Problem problem_from_json(Object fields) {
  Problem problem;
  Object types = fields.object("types");
  problem.types.a = types.named("a", element_type_from_name);
  problem.types.b = types.named("b", element_type_from_name);
  problem.types.c = types.named("c", element_type_from_name);
  types.finish();
  fields.each("groups", kMaxGroups, [&](const Json& element, const std::string& path) {
    Object sizes(element, path);
    problem.groups.push_back({sizes.integer("m", 0, kLargestSize),
                              sizes.integer("n", 0, kLargestSize),
                              sizes.integer("k", 0, kLargestSize)});
    sizes.finish();
  });
  problem.a = layout_from_json(fields.object("a"));
  problem.b = layout_from_json(fields.object("b"));
  problem.c = layout_from_json(fields.object("c"));
  problem.alpha = fields.number("alpha");
  problem.beta = fields.number("beta");
  problem.epilogue.bias = fields.named("bias", bias_axis_from_name);
  problem.epilogue.activation = fields.named("activation", activation_from_name);
  fields.finish();
  try {
    check_problem(problem);
  } catch (const Error& error) {
    throw Error(ErrorCode::io, fields.path_of("types") + ": " + error.what());
  }
  return problem;
}

Json tile_to_json(const TileConfig& tile) {
  return {{"block_m", tile.block_m},
          {"block_n", tile.block_n},
          {"block_k", tile.block_k},
          {"stages", tile.stages},
          {"cluster_m", tile.cluster_m},
          {"cluster_n", tile.cluster_n},
          {"warpgroups", tile.warpgroups},
          {"swap_operands", tile.swap_operands},
          {"mr", tile.mr},
          {"nr", tile.nr},
          {"mc", tile.mc},
          {"a_in_place", tile.a_in_place},
          {"b_in_place", tile.b_in_place},
          {"rows_alike", tile.rows_alike}};
}

// A rejected candidate may hold 0 where nothing was chosen; the plan's own tile is checked by
// plan_from_json, and so is its schedule.
TileConfig tile_from_json(Object fields) {
  const auto read = [&](std::string_view name) { return fields.small_integer(name, 0, kMaxBlock); };
  TileConfig tile;
  tile.block_m = read("block_m");
  tile.block_n = read("block_n");
  tile.block_k = read("block_k");
  tile.stages = read("stages");
  tile.cluster_m = read("cluster_m");
  tile.cluster_n = read("cluster_n");
  tile.warpgroups = read("warpgroups");
  tile.swap_operands = fields.boolean("swap_operands");
  tile.mr = read("mr");
  tile.nr = read("nr");
  tile.mc = read("mc");
  tile.a_in_place = fields.boolean("a_in_place");
  tile.b_in_place = fields.boolean("b_in_place");
  tile.rows_alike = fields.boolean("rows_alike");
  fields.finish();
  return tile;
}

Json schedule_to_json(const Schedule& schedule) {
  return {{"kind", name_of(schedule.kind)},   {"workers", schedule.workers},
          {"splits", schedule.splits},        {"two_tile", schedule.two_tile},
          {"order", name_of(schedule.order)}, {"group_m", schedule.group_m}};
}

Schedule schedule_from_json(Object fields) {
  Schedule schedule;
  schedule.kind = fields.named("kind", schedule_kind_from_name);
  schedule.workers = fields.small_integer("workers", 0, kMaxWorkers);
  schedule.splits = fields.small_integer("splits", 0, kMaxBlock);
  schedule.two_tile = fields.boolean("two_tile");
  schedule.order = fields.named("order", tile_order_from_name).order;
  schedule.group_m = fields.small_integer("group_m", 0, kMaxBlock);
  fields.finish();
  return schedule;
}

Json cost_to_json(const Cost& cost) {
  Json terms = Json::array();
  for (const CostTerm& term : cost.terms) {
    terms.push_back({{"name", term.name}, {"seconds", term.seconds}});
  }
  return {{"seconds", cost.seconds},
          {"terms", std::move(terms)},
          {"memory_bytes", cost.memory_bytes},
          {"cache_bytes", cost.cache_bytes}};
}

Cost cost_from_json(Object fields) {
  Cost cost;
  cost.seconds = fields.quantity("seconds");
  fields.each("terms", kMaxTerms, [&](const Json& element, const std::string& path) {
    Object term(element, path);
    cost.terms.push_back({term.text("name"), term.quantity("seconds")});
    term.finish();
  });
  cost.memory_bytes = fields.quantity("memory_bytes");
  cost.cache_bytes = fields.quantity("cache_bytes");
  fields.finish();
  return cost;
}

Json candidate_to_json(const Candidate& candidate) {
  Json json = {{"kernel", candidate.kernel},
               {"tile", tile_to_json(candidate.tile)},
               {"schedule", schedule_to_json(candidate.schedule)}};
  if (candidate.cost) {
    json["cost"] = cost_to_json(*candidate.cost);
  } else {
    json["rejection"] = candidate.rejection;
  }
  return json;
}

Candidate candidate_from_json(Object fields) {
  Candidate candidate;
  candidate.kernel = fields.text("kernel");
  candidate.tile = tile_from_json(fields.object("tile"));
  candidate.schedule = schedule_from_json(fields.object("schedule"));
  if (fields.has("cost")) {
    candidate.cost = cost_from_json(fields.object("cost"));
  } else {
    candidate.rejection = fields.text("rejection");
  }
  fields.finish();
  return candidate;
}

// The counts, each with its name: one list for both directions.
struct Count {
  std::string_view name;
  std::int64_t Decomposition::*value;
};
constexpr Count kCounts[] = {
    {"tiles_m", &Decomposition::tiles_m},
    {"tiles_n", &Decomposition::tiles_n},
    {"tiles", &Decomposition::tiles},
    {"stream_k_tiles", &Decomposition::stream_k_tiles},
    {"data_parallel_tiles", &Decomposition::data_parallel_tiles},
    {"iterations_per_tile", &Decomposition::iterations_per_tile},
    {"iterations", &Decomposition::iterations},
    {"stream_k_iterations", &Decomposition::stream_k_iterations},
    {"iterations_per_worker", &Decomposition::iterations_per_worker},
    {"leftover_iterations", &Decomposition::leftover_iterations},
};

Json decomposition_to_json(const Decomposition& decomposition) {
  Json json;
  for (const Count& count : kCounts) json[std::string(count.name)] = decomposition.*count.value;
  return json;
}

Decomposition decomposition_from_json(Object fields) {
  Decomposition decomposition;
  for (const Count& count : kCounts) {
    decomposition.*count.value = fields.integer(count.name, 0, kMostIterations);
  }
  fields.finish();
  return decomposition;
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json others = Json::array();
  for (const Candidate& candidate : plan.others) others.push_back(candidate_to_json(candidate));
  return json_fields::dump({{"document", "plan"},
                            {"schema", kPlanSchema},
                            {"problem", problem_to_json(plan.problem)},
                            {"machine", json_of(plan.machine)},
                            {"kernel", plan.kernel},
                            {"tile", tile_to_json(plan.tile)},
                            {"schedule", schedule_to_json(plan.schedule)},
                            {"decomposition", decomposition_to_json(plan.decomposition)},
                            {"cost", cost_to_json(plan.cost)},
                            {"reason", plan.reason},
                            {"others", std::move(others)}});
}

Plan plan_from_json(std::string_view text) {
  const Json document = json_fields::parse(text);
  json_fields::check_header(document, "plan", kPlanSchema);
  Object fields(document, "plan");
  fields.at("document");
  fields.at("schema");

  Plan plan;
  plan.problem = problem_from_json(fields.object("problem"));
  plan.machine = machine_of(fields.at("machine"), "plan.machine");
  check_layouts(plan.problem, plan.machine.kind);
  plan.kernel = fields.text("kernel");
  plan.tile = tile_from_json(fields.object("tile"));
  plan.schedule = schedule_from_json(fields.object("schedule"));
  plan.decomposition = decomposition_from_json(fields.object("decomposition"));
  plan.cost = cost_from_json(fields.object("cost"));
  plan.reason = fields.text("reason");
  fields.each("others", kMaxCandidates, [&](const Json& element, const std::string& path) {
    plan.others.push_back(candidate_from_json({element, path}));
  });
  fields.finish();
  check("plan.tile", why_not(plan.tile));
  check("plan.tile", why_not(plan.tile, plan.problem));
  check("plan.schedule", why_not(plan.schedule));
  return plan;
}

}  // namespace tessera
