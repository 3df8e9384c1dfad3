// Machines as JSON. Every field is required, so that a misspelt one cannot silently be left at its
// default, but those that came later, which old files lack; `tessera plan --machine NAME --json`
// prints a complete one to start from.
#include <algorithm>

#include "core/json_documents.hpp"
#include "core/tile_config.hpp"

namespace tessera {

using json_fields::Json;
using json_fields::Object;

namespace {

constexpr std::int64_t kMachineSchema = 1;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

MachineKind machine_kind_from_name(std::string_view name) {
  if (name == "cpu") return MachineKind::cpu;
  if (name == "gpu") return MachineKind::gpu;
  throw Error(ErrorCode::invalid_argument, "kind", "be cpu or gpu", "'" + std::string(name) + "'",
              "choose a listed name");
}

Json costs_to_json(const CostConstants& cost) {
  return {{"launch_seconds", cost.launch_seconds},
          {"tile_seconds", cost.tile_seconds},
          {"split_seconds", cost.split_seconds},
          {"iteration_overhead_seconds", cost.iteration_overhead_seconds},
          {"peer_seconds_per_byte", cost.peer_seconds_per_byte},
          {"pack_seconds_per_byte", cost.pack_seconds_per_byte},
          {"compute_efficiency", cost.compute_efficiency},
          {"source", cost.source}};
}

CostConstants costs_from_json(Object fields) {
  CostConstants cost;
  cost.launch_seconds = fields.quantity("launch_seconds");
  cost.tile_seconds = fields.quantity("tile_seconds");
  cost.split_seconds = fields.quantity("split_seconds");
  cost.iteration_overhead_seconds = fields.quantity("iteration_overhead_seconds");
  cost.peer_seconds_per_byte = fields.quantity("peer_seconds_per_byte");
  cost.pack_seconds_per_byte = fields.quantity("pack_seconds_per_byte");
  cost.compute_efficiency = fields.quantity("compute_efficiency");
  cost.source = fields.text("source");
  fields.finish();
  if (cost.compute_efficiency <= 0 || cost.compute_efficiency > 1) {
    json_fields::fail(fields.path_of("compute_efficiency"), "be over 0 and at most 1",
                      std::to_string(cost.compute_efficiency), "give a share of the peak");
  }
  return cost;
}

PeakRate peak_from_json(const Json& value, const std::string& path) {
  Object fields(value, path);
  PeakRate peak;
  peak.type = fields.named("type", element_type_from_name);
  peak.flops_per_second_per_worker = fields.quantity("flops_per_second_per_worker");
  fields.finish();
  return peak;
}

}  // namespace

Json json_of(const Machine& machine) {
  Json peaks = Json::array();
  for (const PeakRate& peak : machine.peaks) {
    peaks.push_back({{"type", name_of(peak.type)},
                     {"flops_per_second_per_worker", peak.flops_per_second_per_worker}});
  }
  return {{"document", "machine"},
          {"schema", kMachineSchema},
          {"name", machine.name},
          {"kind", machine.kind == MachineKind::gpu ? "gpu" : "cpu"},
          {"architecture", machine.architecture},
          {"workers", machine.workers},
          {"scratchpad_bytes", machine.scratchpad_bytes},
          {"l1_bytes", machine.l1_bytes},
          {"cache_bytes", machine.cache_bytes},
          {"memory_bytes_per_second", machine.memory_bytes_per_second},
          {"cache_bytes_per_second", machine.cache_bytes_per_second},
          {"worker_memory_bytes_per_second", machine.worker_memory_bytes_per_second},
          {"splits_f32", machine.splits_f32},
          {"splits_f64", machine.splits_f64},
          {"peaks", std::move(peaks)},
          {"cost", costs_to_json(machine.cost)}};
}

Machine machine_of(const Json& document, const std::string& path) {
  json_fields::check_header(document, "machine", kMachineSchema);
  Object fields(document, path);
  fields.at("document");
  fields.at("schema");

  Machine machine;
  machine.name = fields.text("name");
  machine.kind = fields.named("kind", machine_kind_from_name);
  machine.architecture = fields.text("architecture");
  machine.workers = fields.small_integer("workers", 1, kMaxWorkers);
  machine.scratchpad_bytes = fields.integer("scratchpad_bytes", 0, kMaxBytes);
  machine.l1_bytes = fields.integer("l1_bytes", 0, kMaxBytes);
  machine.cache_bytes = fields.integer("cache_bytes", 0, kMaxBytes);
  machine.memory_bytes_per_second = fields.quantity("memory_bytes_per_second");
  machine.cache_bytes_per_second = fields.quantity("cache_bytes_per_second");
  machine.worker_memory_bytes_per_second = fields.quantity("worker_memory_bytes_per_second");
  machine.splits_f32 = fields.has("splits_f32") && fields.boolean("splits_f32");
  machine.splits_f64 = fields.has("splits_f64") && fields.boolean("splits_f64");
  constexpr std::size_t kMaxPeaks = 64;
  fields.each("peaks", kMaxPeaks, [&](const Json& element, const std::string& at) {
    const PeakRate peak = peak_from_json(element, at);
    if (std::ranges::find(machine.peaks, peak.type, &PeakRate::type) != machine.peaks.end()) {
      json_fields::fail(at + ".type", "be named once", std::string(name_of(peak.type)),
                        "remove one of the two");
    }
    machine.peaks.push_back(peak);
  });
  machine.cost = costs_from_json(fields.object("cost"));
  fields.finish();
  return machine;
}

std::string to_json(const Machine& machine) {
  return json_fields::dump(json_of(machine));
}

Machine machine_from_json(std::string_view text) {
  return machine_of(json_fields::parse(text), "machine");
}

}  // namespace tessera
