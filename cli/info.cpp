// `tessera info`: what is here. Devices, instruction sets, measured limits, kernels, machine
// descriptions, benchmark peers, versions, and the environment variables that have a say.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/limits.hpp"
#include "bench/peer.hpp"
#include "cli/verbs.hpp"
#include "core/catalogue.hpp"
#include "core/environment.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// Variables of the libraries below and beside this one; Tessera's own are listed by the library.
constexpr std::array kForeignVariables = {
    "OMP_NUM_THREADS",    "OMP_PROC_BIND",     "OMP_PLACES",          "OMP_WAIT_POLICY",
    "GOMP_SPINCOUNT",     "GOMP_CPU_AFFINITY", "OPENBLAS_CORETYPE",   "BLIS_ARCH_TYPE",
    "ONEDNN_MAX_CPU_ISA", "NO_COLOR",          "CUDA_VISIBLE_DEVICES"};

#ifdef __clang__
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

struct InfoRequest {
  bool no_measure = false;
  bool json = false;
};

Json instruction_sets(const Machine& machine) {
  __builtin_cpu_init();
  Json sets = Json::array();
  const auto add = [&](const char* name, bool supported) {
    if (supported) sets.push_back(name);
  };
  add("avx2", __builtin_cpu_supports("avx2"));
  add("fma", __builtin_cpu_supports("fma"));
  add("avx512f", __builtin_cpu_supports("avx512f"));
  add("avx512bw", __builtin_cpu_supports("avx512bw"));
  add("avx512vnni", __builtin_cpu_supports("avx512vnni"));
  add("avx512bf16", __builtin_cpu_supports("avx512bf16"));
  add("amx", machine.architecture == "amx");
  return sets;
}

Json measured(int threads) {
  Json limits;
  limits["threads"] = threads;
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::bf16, ElementType::i8}) {
    const bench::PeakMeasurement peak = bench::measure_peak(type, threads);
    limits["peak_gflops"][std::string(name_of(type))] = {{"gflops", peak.flops_per_second * 1e-9},
                                                         {"instruction", peak.instruction}};
  }
  limits["read_gb_per_second"] = bench::measure_read_bandwidth(threads) * 1e-9;
  return limits;
}

Json kernels_on(const Machine& machine) {
  Json kernels = Json::array();
  for (const KernelEntry& kernel : catalogue()) {
    const bool runs = kernel.device == machine.kind &&
                      architecture_runs(machine.architecture, kernel.architecture);
    kernels.push_back({{"name", kernel.name},
                       {"device", kernel.device == MachineKind::cpu ? "cpu" : "cuda"},
                       {"architecture", kernel.architecture},
                       {"a", name_of(kernel.a)},
                       {"b", name_of(kernel.b)},
                       {"wins_at", kernel.wins_at},
                       {"runs_on_this_processor", runs}});
  }
  return kernels;
}

Json collect(const InfoRequest& options) {
  const Machine machine = host_machine();
  Json info;
  info["version"] = version();
  info["compiler"] = kCompiler;
  info["cuda_in_build"] = TESSERA_HAS_CUDA != 0;
  info["cpu"] = {{"name", machine.name},
                 {"cores", machine.workers},
                 {"architecture", machine.architecture},
                 {"instruction_sets", instruction_sets(machine)},
                 {"l1_bytes", machine.l1_bytes},
                 {"l2_bytes", machine.scratchpad_bytes},
                 {"l3_bytes", machine.cache_bytes},
                 {"splits_f32", machine.splits_f32},
                 {"splits_f64", machine.splits_f64},
                 {"cost_constants", machine.cost.source}};
  if (!options.no_measure) {
    info["measured"] = Json::array({measured(1)});
    info["nearest_cache_crowding"] = bench::measure_crowding();
    if (machine.workers > 1) {
      info["measured"].push_back(measured(machine.workers));
      info["cache_line_round_trip_ns"] = bench::measure_ping_pong() * 1e9;
    }
  }
  info["gpus"] = Json::array();
  for (int device = 0; device < device_count(); ++device) {
    const Machine gpu = device_machine(device);
    info["gpus"].push_back({{"name", gpu.name},
                            {"multiprocessors", gpu.workers},
                            {"architecture", gpu.architecture},
                            {"memory_gb_per_second", gpu.memory_bytes_per_second * 1e-9}});
  }
  info["kernels"] = kernels_on(machine);
  info["machines"] = machine_names();
  info["peers"] = Json::array();
  for (const bench::PeerInfo& peer : bench::installed_peers()) {
    info["peers"].push_back({{"name", peer.name}, {"version", peer.version}, {"path", peer.path}});
  }
  info["environment"] = Json::object();
  for (const EnvironmentVariable& variable : environment_variables()) {
    if (variable.value) info["environment"][std::string(variable.name)] = *variable.value;
  }
  for (const char* const name : kForeignVariables) {
    if (const char* const value = std::getenv(name)) info["environment"][name] = value;
  }
  return info;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& entry : list) text += (text.empty() ? "" : ", ") + text_of(entry);
  return text.empty() ? "none" : text;
}

void print_text(const Json& info) {
  const auto line = [](std::string_view name, const std::string& value) {
    fmt::print("{:<22}{}\n", name, value);
  };
  line("tessera", fmt::format("{}, {} with CUDA, {}", text_of(info["version"]),
                              info["cuda_in_build"].get<bool>() ? "built" : "not built",
                              text_of(info["compiler"])));
  const Json& cpu = info["cpu"];
  line("processor", fmt::format("{}, {} cores", text_of(cpu["name"]), cpu["cores"].get<int>()));
  line("instruction sets", joined(cpu["instruction_sets"]));
  line("caches", fmt::format("{} kB L1, {} kB L2 per core, {:.1f} MB L3",
                             cpu["l1_bytes"].get<std::int64_t>() >> 10,
                             cpu["l2_bytes"].get<std::int64_t>() >> 10,
                             cpu["l3_bytes"].get<double>() / (1 << 20)));
  if (cpu["splits_f32"].get<bool>()) line("f32", "by vectors, or in three parts of bf16");
  if (cpu["splits_f64"].get<bool>()) line("f64", "by vectors, or by fifteen residues of 8 bits");
  line("cost constants", text_of(cpu["cost_constants"]));
  if (info.contains("measured")) {
    for (const Json& limits : info["measured"]) {
      std::string text;
      for (const auto& [type, peak] : limits["peak_gflops"].items()) {
        text += fmt::format("{} {:.1f}, ", type, peak["gflops"].get<double>());
      }
      line(fmt::format("measured, {} threads", limits["threads"].get<int>()),
           fmt::format("{}in GFLOP/s; reads {:.1f} GB/s", text,
                       limits["read_gb_per_second"].get<double>()));
    }
  }
  if (info.contains("nearest_cache_crowding")) {
    line("nearest cache", fmt::format("a full set {:.1f} times as slow as half of one",
                                      info["nearest_cache_crowding"].get<double>()));
  }
  if (info.contains("cache_line_round_trip_ns")) {
    line("cache line round trip", fmt::format("{:.0f} ns between two cores",
                                              info["cache_line_round_trip_ns"].get<double>()));
  }
  for (const Json& gpu : info["gpus"]) {
    line("GPU", fmt::format("{}, {} SMs, {}, {:.0f} GB/s", text_of(gpu["name"]),
                            gpu["multiprocessors"].get<int>(), text_of(gpu["architecture"]),
                            gpu["memory_gb_per_second"].get<double>()));
  }
  if (info["gpus"].empty()) line("GPU", "none");
  line("machines", joined(info["machines"]));
  std::string peers;
  for (const Json& peer : info["peers"]) {
    peers += fmt::format("{}{} {}", peers.empty() ? "" : ", ", text_of(peer["name"]),
                         text_of(peer["version"]));
  }
  line("peers", peers.empty() ? "none" : peers);
  for (const auto& [name, value] : info["environment"].items()) {
    line("environment", name + "=" + text_of(value));
  }
  if (info["environment"].empty()) line("environment", "no variable set that has a say");
  fmt::print("\n{:<26} {:<6} {:<13} {:<10} {}\n", "kernel", "device", "needs", "here", "for");
  for (const Json& kernel : info["kernels"]) {
    fmt::print("{:<28} {:<6} {:<13} {:<6} {}\n", text_of(kernel["name"]), text_of(kernel["device"]),
               text_of(kernel["architecture"]),
               kernel["runs_on_this_processor"].get<bool>() ? "runs" : "-",
               text_of(kernel["wins_at"]));
  }
}

int run_info(const InfoRequest& options) {
  const Json info = collect(options);
  if (options.json) {
    std::puts(info.dump(2).c_str());
  } else {
    print_text(info);
  }
  return 0;
}

}  // namespace

Verb add_info_verb(CLI::App& app) {
  const auto options = std::make_shared<InfoRequest>();
  CLI::App* const verb =
      app.add_subcommand("info", "Show devices, measured limits, kernels, peers and settings");
  verb->add_flag("--no-measure", options->no_measure,
                 "Leave the measurements out (they take seconds)");
  verb->add_flag("--json", options->json, "Print everything as JSON");
  return {verb, [options] { return run_info(*options); }};
}

}  // namespace tessera::cli
