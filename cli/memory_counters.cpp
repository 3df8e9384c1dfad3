#include "cli/memory_counters.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "cli/command_line.hpp"
#include "cli/interrupt.hpp"

namespace tessera::cli {
namespace {

constexpr const char* kMemoryRead = "dram__bytes_read.sum";
constexpr const char* kMemoryWritten = "dram__bytes_write.sum";
constexpr const char* kCache = "lts__t_bytes.sum";

// The fields of one line: "1","a kernel<int, 2>","12,345".
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      // Two of them inside quotes stand for one.
      if (is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        is_quoted = !is_quoted;
      }
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

// "33,554,432" is a number here, whatever the locale; "n/a" is none.
std::optional<double> number(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',') digits += c;
  }
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != '\0' || !(value >= 0)) return std::nullopt;
  return value;
}

std::optional<std::size_t> column(const std::vector<std::string>& header, std::string_view name) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

// The first thing that ncu or the profiled program complained of.
std::string complaint(const std::vector<std::string_view>& lines) {
  constexpr std::string_view kError = "==ERROR== ";
  constexpr std::string_view kOwnError = "tessera: ";
  for (const std::string_view line : lines) {
    if (line.find("ERR_NVGPUCTRPERM") != line.npos) {
      return "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); root may";
    }
  }
  for (const std::string_view line : lines) {
    if (line.starts_with(kError)) return "ncu said: " + std::string(line.substr(kError.size()));
    if (line.starts_with(kOwnError)) {
      return "under ncu this command said: " + std::string(line.substr(kOwnError.size()));
    }
  }
  return "ncu printed no values of " + std::string(kMemoryRead);
}

bool is_program(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string find_ncu() {
  const char* const path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "";
  while (!left.empty()) {
    const std::size_t end = left.find(':');
    const std::filesystem::path found = std::filesystem::path(left.substr(0, end)) / "ncu";
    if (is_program(found)) return found;
    left.remove_prefix(end == left.npos ? left.size() : end + 1);
  }
  const char* const usual = "/usr/local/cuda/bin/ncu";
  return is_program(usual) ? usual : "";
}

}  // namespace

CounterReading parse_counters(std::string_view output) {
  const std::vector<std::string_view> lines = lines_of(output);
  std::vector<std::string> header;
  std::map<std::string, double> values;
  for (const std::string_view line : lines) {
    if (line.starts_with("\"ID\",")) {
      header = csv_fields(line);
      continue;
    }
    const auto name = column(header, "Metric Name");
    const auto unit = column(header, "Metric Unit");
    const auto value = column(header, "Metric Value");
    if (!name || !unit || !value || !line.starts_with('"')) continue;
    const std::vector<std::string> fields = csv_fields(line);
    if (fields.size() != header.size() || fields[*unit] != "byte") continue;
    if (const auto parsed = number(fields[*value])) values.emplace(fields[*name], *parsed);
  }
  if (!values.contains(kMemoryRead) || !values.contains(kMemoryWritten) ||
      !values.contains(kCache)) {
    return {{}, complaint(lines)};
  }
  return {CountedBytes{values[kMemoryRead], values[kMemoryWritten], values[kCache]}, ""};
}

CounterReading count_first_launch(const std::vector<std::string>& arguments) {
  const std::string ncu = find_ncu();
  if (ncu.empty()) return {{}, "Nsight Compute (ncu) is not on PATH"};
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {{}, "this program's own file was not found: " + error.message()};
  // Clocks are left as they are; every replay of the launch begins with an empty cache.
  std::string command = shell_quoted(ncu) +
                        " --csv --print-units base --clock-control none --cache-control all"
                        " --launch-count 1 --metrics " +
                        kMemoryRead + "," + kMemoryWritten + "," + kCache + " " +
                        shell_quoted(self);
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {{}, "no process could be started for ncu"};
  std::string output;
  std::array<char, 4096> buffer;
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  throw_if_interrupted();
  CounterReading reading = parse_counters(output);
  if (!reading.counted && WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    reading.why_not += " (exit status " + std::to_string(WEXITSTATUS(status)) + ")";
  }
  return reading;
}

}  // namespace tessera::cli
