// Figures as people read them: "96.0 KB", "12.3 µs", "812 TFLOP/s", "1 234 567". Text is UTF-8;
// to_ascii spells it for terminals and files that are not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedule/partition.hpp"
#include "tessera/problem.hpp"
#include "tessera/schedule.hpp"
#include "tessera/tile_config.hpp"

namespace tessera::report {

// Three significant digits: "0.5", "64", "418", "1 234".
std::string figure(double value);
// Thousands parted by thin spaces.
std::string count(std::int64_t value);
// "1 tile", "168 tiles".
std::string counted(std::int64_t value, std::string_view singular, std::string_view plural = {});
std::string seconds(double value);
// Binary multiples: scratchpads are sold by them.
std::string bytes(double value);
// Decimal multiples: bandwidths are sold by them.
std::string bytes_per_second(double value);
std::string flops_per_second(double value);
std::string intensity(double value);
// "97 %", "0.4 %".
std::string percent(double share);
// "1.27×"
std::string times(double ratio);

// "1536 × 1792 × 6016"
std::string shape(const GemmShape& shape);
// All shapes of a short list, the count and the first of a long one.
std::string shapes(const Problem& problem);
// "bf16 · bf16 → f32"; one name where all three agree.
std::string types(const GemmTypes& types);
// "128 × 128 × 32"
std::string tile(const TileConfig& tile);
// What a hybrid cuts: "one-tile", "two-tile" or "in pieces".
std::string_view hybrid_cut_name(const Partition& hybrid);
// "split_k(4)", "hybrid, two-tile": a schedule and its partition without workers and order.
std::string cut(const Schedule& schedule, const Partition& partition);

// Every character that is not ASCII replaced by ASCII that means the same.
std::string to_ascii(std::string_view text);
// How many columns UTF-8 text takes on a terminal.
std::size_t columns(std::string_view text);

}  // namespace tessera::report
