// host_machine(): the processor this code runs on, as data. It starts from the shipped description
// of the nearest kind and replaces what the operating system and CPUID know: workers, caches,
// instruction set. Nothing is timed, so the same processor gives the same machine, the same plans
// and the same bits every time; `tessera calibrate` measures.
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "core/catalogue.hpp"
#include "core/environment.hpp"
#include "cpu/cpuid.hpp"
#include "cpu/threads.hpp"
#include "tessera/error.hpp"
#include "tessera/machine.hpp"

namespace tessera {
namespace {

std::string_view nearest_shipped(std::string_view architecture) {
  const cpu::Pipes pipes = cpu::multiply_add_pipes();
  if (architecture == "scalar" || architecture == "avx2") return "avx2-laptop";
  if (cpu::is_amd()) return pipes.multiply_adds_per_cycle == 1 ? "zen4" : "zen5";
  if (architecture == "amx") return "sapphire-rapids";
  return architecture == "avx512_bf16" ? "sapphire-rapids-avx512" : "icelake";
}

std::string first_word_of(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "32K", "1024K", "32M"
std::int64_t bytes_of(const std::string& text) {
  if (text.empty()) return 0;
  const std::int64_t unit = text.back() == 'K' ? 1024 : text.back() == 'M' ? 1024 * 1024 : 1;
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
  }
  return number * unit;
}

// 0 where the operating system does not say.
std::int64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (first_word_of(folder + "level") != std::to_string(level)) continue;
    if (first_word_of(folder + "type") == "Instruction") continue;
    return bytes_of(first_word_of(folder + "size"));
  }
  return 0;
}

void replace_if_known(std::int64_t& value, std::int64_t known) {
  if (known > 0) value = known;
}

// What the processor has, as TESSERA_ISA restricts it.
std::string usable_architecture() {
  const std::string widest{cpu::host_architecture()};
  std::string wanted = environment_value("TESSERA_ISA").value_or(widest);
  if (architecture_runs(widest, wanted)) return wanted;
  throw Error(ErrorCode::invalid_argument, "TESSERA_ISA",
              "name an instruction set that this processor has, up to " + widest,
              "'" + wanted + "'", "correct or unset the environment variable");
}

}  // namespace

Machine host_machine() {
  const std::string architecture = usable_architecture();
  Machine machine = machine_by_name(nearest_shipped(architecture));
  machine.name = "host";
  machine.architecture = architecture;
  // Fewer workers than the description has draw less, up to what each can draw alone.
  machine = with_workers(std::move(machine), cpu::usable_cpus());
  replace_if_known(machine.l1_bytes, cache_bytes(1));
  replace_if_known(machine.scratchpad_bytes, cache_bytes(2));
  replace_if_known(machine.cache_bytes, cache_bytes(3));
  // Measured there (plan/parts_pay.hpp); on an Emerald Rapids that is shared with others parts take
  // up to twice as long as vectors.
  const bool gains = cpu::is_granite_rapids_or_later();
  const auto splits = [&](const char* variable) {
    const std::optional<int> wanted = environment_number(variable, 0, 1);
    return architecture == "amx" && (wanted ? *wanted == 1 : gains);
  };
  machine.splits_f32 = splits("TESSERA_SPLIT_F32");
  machine.splits_f64 = splits("TESSERA_SPLIT_F64");
  if (architecture == "scalar") {
    // Two 128-bit multiplies and adds, without fusing: a quarter of AVX2's rate.
    for (PeakRate& peak : machine.peaks) peak.flops_per_second_per_worker /= 4;
  }
  return machine;
}

}  // namespace tessera
