#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "core/tile_config.hpp"
#include "schedule/division.hpp"

namespace tessera::report {
namespace {

constexpr std::string_view kThinSpace = "\u202f";

struct Multiple {
  double value;
  const char* name;
};

// The largest multiple that leaves at least one; the smallest where none does.
std::string in_multiples(double value, std::span<const Multiple> multiples) {
  if (!std::isfinite(value)) return "unknown";
  const Multiple* chosen = &multiples.back();
  for (const Multiple& multiple : multiples) {
    // 999.7 must not become "1000 KB".
    if (std::abs(value) >= 0.9995 * multiple.value) {
      chosen = &multiple;
      break;
    }
  }
  return figure(value / chosen->value) + " " + chosen->name;
}

}  // namespace

std::string count(std::int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, kThinSpace);
  return value < 0 ? "−" + digits : digits;
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "unknown";
  const double magnitude = std::abs(value);
  if (magnitude >= 999.5) return count(std::llround(value));
  if (magnitude == 0) return "0";
  const int decimals = magnitude >= 99.95    ? 0
                       : magnitude >= 9.995  ? 1
                       : magnitude >= 0.9995 ? 2
                                             : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "0" ? fmt::format("{:.2g}", value) : text;
}

std::string counted(std::int64_t value, std::string_view singular, std::string_view plural) {
  const std::string many = plural.empty() ? std::string(singular) + "s" : std::string(plural);
  return count(value) + " " + (value == 1 ? std::string(singular) : many);
}

std::string seconds(double value) {
  static constexpr std::array kMultiples{Multiple{1, "s"}, Multiple{1e-3, "ms"},
                                         Multiple{1e-6, "µs"}, Multiple{1e-9, "ns"}};
  return value == 0 ? "0 s" : in_multiples(value, kMultiples);
}

std::string bytes(double value) {
  static constexpr std::array kMultiples{Multiple{1099511627776.0, "TB"},
                                         Multiple{1073741824.0, "GB"}, Multiple{1048576.0, "MB"},
                                         Multiple{1024.0, "KB"}, Multiple{1, "B"}};
  return in_multiples(value, kMultiples);
}

std::string bytes_per_second(double value) {
  static constexpr std::array kMultiples{Multiple{1e12, "TB/s"}, Multiple{1e9, "GB/s"},
                                         Multiple{1e6, "MB/s"}};
  return in_multiples(value, kMultiples);
}

std::string flops_per_second(double value) {
  static constexpr std::array kMultiples{Multiple{1e15, "PFLOP/s"}, Multiple{1e12, "TFLOP/s"},
                                         Multiple{1e9, "GFLOP/s"}, Multiple{1e6, "MFLOP/s"}};
  return in_multiples(value, kMultiples);
}

std::string intensity(double value) {
  return figure(value) + " FLOP/byte";
}

std::string percent(double share) {
  const double value = 100 * share;
  if (!std::isfinite(value)) return "unknown";
  return fmt::format("{:.{}f} %", value, std::abs(value) < 9.95 && value != 0 ? 1 : 0);
}

std::string times(double ratio) {
  return figure(ratio) + "×";
}

std::string shape(const GemmShape& shape) {
  return fmt::format("{} × {} × {}", shape.m, shape.n, shape.k);
}

std::string shapes(const Problem& problem) {
  constexpr std::size_t kShown = 3;
  if (problem.groups.empty()) return "no products";
  std::string text;
  for (std::size_t i = 0; i < std::min(problem.groups.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + shape(problem.groups[i]);
  }
  if (problem.groups.size() > kShown) {
    text =
        counted(static_cast<std::int64_t>(problem.groups.size()), "product") + ": " + text + ", …";
  }
  return text;
}

std::string types(const GemmTypes& types) {
  if (types.a == types.b && types.b == types.c) return std::string(name_of(types.a));
  return fmt::format("{} · {} → {}", name_of(types.a), name_of(types.b), name_of(types.c));
}

std::string tile(const TileConfig& tile) {
  return fmt::format("{} × {} × {}", tile.block_m, tile.block_n, tile.block_k);
}

std::string_view hybrid_cut_name(const Partition& hybrid) {
  switch (hybrid_cut(hybrid)) {
    case HybridCut::last_tiles:
      return "in pieces";
    case HybridCut::one_tile:
      return "one-tile";
    case HybridCut::two_tiles:
      return "two-tile";
  }
  return "";
}

std::string cut(const Schedule& schedule, const Partition& partition) {
  std::string name = kind_text(schedule);
  if (schedule.kind == ScheduleKind::hybrid)
    name += fmt::format(", {}", hybrid_cut_name(partition));
  return name;
}

std::string to_ascii(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kSpellings{{
      {"\u202f", " "}, {"\u00a0", " "}, {"µ", "u"},  {"×", "x"}, {"·", "*"},   {"→", "->"},
      {"←", "<-"},     {"−", "-"},      {"–", "-"},  {"—", "-"}, {"…", "..."}, {"≤", "<="},
      {"≥", ">="},     {"½", "1/2"},    {"█", "#"},  {"▓", "="}, {"░", "."},   {"│", "|"},
      {"─", "-"},      {"●", "o"},      {"✓", "ok"}, {"▏", "|"},
  }};
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ascii += text[at++];
      continue;
    }
    const auto* known = std::find_if(kSpellings.begin(), kSpellings.end(), [&](const auto& row) {
      return text.substr(at).starts_with(row.first);
    });
    if (known != kSpellings.end()) {
      ascii += known->second;
      at += known->first.size();
      continue;
    }
    ascii += '?';
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  }
  return ascii;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  }));
}

}  // namespace tessera::report
