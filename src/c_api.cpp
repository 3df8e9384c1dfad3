// The C API: each function turns its arguments into those of the C++ API, and exceptions into
// status codes, in one place (`guarded` in c_api_convert.hpp).
#include "tessera/tessera.h"

#include <charconv>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c_api_convert.hpp"
#include "c_api_handles.hpp"
#include "tessera/log.hpp"
#include "tessera/tessera.hpp"

namespace {

using tessera::Error;
using tessera::ErrorCode;
using tessera::c_api::epilogue_of;
using tessera::c_api::give;
using tessera::c_api::groups_of;
using tessera::c_api::guarded;
using tessera::c_api::operands_of;
using tessera::c_api::require;
using tessera::c_api::run_options_of;

// ---- Options by name ----

[[noreturn]] void refuse_option(std::string_view key, std::string_view requirement,
                                std::string_view value) {
  throw Error(ErrorCode::invalid_argument, "option " + std::string(key), requirement,
              "'" + std::string(value) + "'", "correct the value");
}

int number_of(std::string_view key, std::string_view value) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    refuse_option(key, "be a whole number", value);
  }
  return number;
}

bool truth_of(std::string_view key, std::string_view value) {
  if (value != "true" && value != "false") refuse_option(key, "be true or false", value);
  return value == "true";
}

tessera::TileConfig tile_of(std::string_view key, std::string_view value) {
  const std::size_t first = value.find('x');
  const std::size_t second = first == value.npos ? value.npos : value.find('x', first + 1);
  if (second == value.npos) refuse_option(key, "be rows x columns x depth, as 128x128x32", value);
  tessera::TileConfig tile;
  tile.block_m = number_of(key, value.substr(0, first));
  tile.block_n = number_of(key, value.substr(first + 1, second - first - 1));
  tile.block_k = number_of(key, value.substr(second + 1));
  return tile;
}

void set_option(tessera_options& handle, std::string_view key, std::string_view value) {
  tessera::PlanOptions& options = handle.value;
  if (key == "schedule") {
    options.schedule = tessera::schedule_kind_from_name(value);
  } else if (key == "workers") {
    options.workers = number_of(key, value);
  } else if (key == "splits") {
    options.splits = number_of(key, value);
  } else if (key == "tile") {
    options.tile = tile_of(key, value);
  } else if (key == "order") {
    options.order = tessera::tile_order_from_name(value);
  } else if (key == "two_tile") {
    options.two_tile = truth_of(key, value);
  } else if (key == "kernel") {
    options.kernel = std::string(value);
  } else if (key == "batch_invariant") {
    options.batch_invariant = truth_of(key, value);
  } else if (key == "allow_copies") {
    options.allow_copies = truth_of(key, value);
  } else if (key == "packed_b") {
    handle.plans_packed_b = truth_of(key, value);
  } else {
    throw Error(ErrorCode::invalid_argument, "option key",
                "be schedule, workers, splits, tile, order, two_tile, kernel, batch_invariant, "
                "allow_copies or packed_b",
                "'" + std::string(key) + "'", "choose a listed key");
  }
}

// ---- From C++ to C ----

void copy_text(const std::string& text, char* buffer, std::size_t size, std::size_t* needed) {
  const std::size_t bytes = text.size() + 1;
  if (needed != nullptr) *needed = bytes;
  if (buffer == nullptr) return;
  if (size < bytes) {
    throw Error(ErrorCode::out_of_memory, "buffer",
                "have " + std::to_string(bytes) + " bytes for this text", std::to_string(size),
                "ask for the size first, with buffer = NULL");
  }
  std::memcpy(buffer, text.c_str(), bytes);
}

// What plans for these are made with: where the caller does not say, what their packed B's are for,
// which are alike.
tessera::PlanOptions options_beside(const tessera_options* options,
                                    std::span<const tessera::Operands> groups) {
  tessera::PlanOptions choices = options == nullptr ? tessera::PlanOptions{} : options->value;
  for (const tessera::Operands& o : groups) {
    if (o.packed_b != nullptr) return tessera::options_for(*o.packed_b, std::move(choices));
  }
  return choices;
}

}  // namespace

extern "C" {

const char* tessera_last_error(void) {
  return tessera::c_api::last_message();
}

const char* tessera_status_name(tessera_status status) {
  switch (status) {
    case TESSERA_OK:
      return "ok";
    case TESSERA_INVALID_ARGUMENT:
      return "invalid_argument";
    case TESSERA_UNSUPPORTED:
      return "unsupported";
    case TESSERA_OUT_OF_MEMORY:
      return "out_of_memory";
    case TESSERA_IO:
      return "io";
    case TESSERA_DEVICE:
      return "device";
    case TESSERA_INTERRUPTED:
      return "interrupted";
    case TESSERA_INTERNAL:
      return "internal";
  }
  return "unknown";
}

const char* tessera_version(void) {
  return tessera::version();
}

int tessera_version_number(void) {
  return TESSERA_VERSION_NUMBER;
}

tessera_status tessera_gemm(double alpha, tessera_const_matrix a, tessera_const_matrix b,
                            double beta, tessera_matrix c, const tessera_run_options* options) {
  return guarded([&] {
    tessera::gemm(alpha, operands_of({a, b, c, {}}), beta, {}, run_options_of(options));
  });
}

tessera_status tessera_grouped_gemm(double alpha, const tessera_operands* groups,
                                    size_t group_count, double beta,
                                    const tessera_epilogue* epilogue,
                                    const tessera_run_options* options) {
  return guarded([&] {
    tessera::grouped_gemm(alpha, groups_of(groups, group_count), beta, epilogue_of(epilogue),
                          run_options_of(options));
  });
}

tessera_status tessera_machine_host(tessera_machine** machine) {
  return guarded([&] {
    require(machine, "machine");
    give(machine, tessera::host_machine());
  });
}

int tessera_device_count(void) {
  return tessera::device_count();
}

tessera_status tessera_machine_device(int device, tessera_machine** machine) {
  return guarded([&] {
    require(machine, "machine");
    give(machine, tessera::device_machine(device));
  });
}

tessera_status tessera_machine_by_name(const char* name, tessera_machine** machine) {
  return guarded([&] {
    require(name, "name");
    require(machine, "machine");
    give(machine, tessera::machine_by_name(name));
  });
}

tessera_status tessera_machine_from_json(const char* json, tessera_machine** machine) {
  return guarded([&] {
    require(json, "json");
    require(machine, "machine");
    give(machine, tessera::machine_from_json(json));
  });
}

tessera_status tessera_machine_to_json(const tessera_machine* machine, char* buffer, size_t size,
                                       size_t* needed) {
  return guarded([&] {
    require(machine, "machine");
    copy_text(tessera::to_json(machine->value), buffer, size, needed);
  });
}

void tessera_machine_destroy(tessera_machine* machine) {
  delete machine;
}

tessera_status tessera_options_create(tessera_options** options) {
  return guarded([&] {
    require(options, "options");
    *options = new tessera_options{};
  });
}

tessera_status tessera_options_set(tessera_options* options, const char* key, const char* value) {
  return guarded([&] {
    require(options, "options");
    require(key, "key");
    require(value, "value");
    set_option(*options, key, value);
  });
}

void tessera_options_destroy(tessera_options* options) {
  delete options;
}

tessera_status tessera_plan_create(const tessera_operands* groups, size_t group_count, double alpha,
                                   double beta, const tessera_epilogue* epilogue,
                                   const tessera_machine* machine, const tessera_options* options,
                                   tessera_plan** plan) {
  return guarded([&] {
    require(plan, "plan");
    const std::vector<tessera::Operands> operands = groups_of(groups, group_count);
    tessera::Problem problem = tessera::describe(operands, alpha, beta, epilogue_of(epilogue));
    if (options != nullptr && options->plans_packed_b) problem.b = tessera::kPackedLayout;
    give(plan,
         tessera::make_plan(problem, machine == nullptr ? tessera::host_machine() : machine->value,
                            options_beside(options, operands)));
  });
}

tessera_status tessera_plan_from_json(const char* json, tessera_plan** plan) {
  return guarded([&] {
    require(json, "json");
    require(plan, "plan");
    give(plan, tessera::plan_from_json(json));
  });
}

tessera_status tessera_plan_to_json(const tessera_plan* plan, char* buffer, size_t size,
                                    size_t* needed) {
  return guarded([&] {
    require(plan, "plan");
    copy_text(tessera::to_json(plan->value), buffer, size, needed);
  });
}

tessera_status tessera_plan_workspace_bytes(const tessera_plan* plan, size_t* bytes) {
  return guarded([&] {
    require(plan, "plan");
    require(bytes, "bytes");
    *bytes = tessera::workspace_bytes(plan->value);
  });
}

double tessera_plan_predicted_seconds(const tessera_plan* plan) {
  return plan == nullptr ? 0.0 : plan->value.cost.seconds;
}

tessera_status tessera_plan_run(const tessera_plan* plan, const tessera_operands* groups,
                                size_t group_count, const tessera_run_options* options) {
  return guarded([&] {
    require(plan, "plan");
    tessera::run(plan->value, groups_of(groups, group_count), run_options_of(options));
  });
}

void tessera_plan_destroy(tessera_plan* plan) {
  delete plan;
}

tessera_status tessera_set_log(tessera_log_function log, void* user) {
  return guarded([&] {
    if (log == nullptr) {
      tessera::set_log({});
    } else {
      // The line is terminated for C.
      tessera::set_log(
          [log, user](std::string_view line) { log(std::string(line).c_str(), user); });
    }
  });
}

}  // extern "C"
