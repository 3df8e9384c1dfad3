// A Schedule: how the iteration space of a Problem is divided among workers. Data only; the
// arithmetic is in src/schedule/, which both the host and the device compile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/export.hpp"

namespace tessera {

enum class ScheduleKind : std::uint8_t {
  data_parallel,  // whole tiles, round robin
  split_k,        // every tile's iterations in `splits` nearly equal runs, round robin
  stream_k,       // the whole line of iterations in one nearly equal run per worker
  hybrid,         // stream-K for the tiles of the partial wave, data-parallel for full waves
};

enum class TileOrder : std::uint8_t { linear, swizzle, hilbert };

struct Schedule {
  ScheduleKind kind = ScheduleKind::data_parallel;
  int workers = 1;       // logical workers; independent of how many threads or SMs run them
  int splits = 1;        // split_k only
  bool two_tile = true;  // hybrid only: stream-K workers get between one and two tiles of work
  TileOrder order = TileOrder::linear;
  int group_m = 8;  // swizzle only: tile rows that are walked together

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

TESSERA_API std::string_view name_of(ScheduleKind kind);
TESSERA_API std::string_view name_of(TileOrder order);
TESSERA_API ScheduleKind schedule_kind_from_name(std::string_view name);

struct TileOrderChoice {
  TileOrder order = TileOrder::linear;
  int group_m = 8;
};
// "linear", "hilbert", "swizzle" or "swizzle(4)".
TESSERA_API TileOrderChoice tile_order_from_name(std::string_view text);

}  // namespace tessera
