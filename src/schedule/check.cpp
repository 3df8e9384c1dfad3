#include "schedule/check.hpp"

#include <string>

#include "tessera/error.hpp"

namespace tessera {
namespace {

void check_range(const char* name, int value, int highest, const char* remedy) {
  if (value >= 1 && value <= highest) return;
  throw Error(ErrorCode::invalid_argument, name, "be from 1 to " + std::to_string(highest),
              std::to_string(value), remedy);
}

}  // namespace

void check_schedule(const Schedule& schedule) {
  check_range("workers", schedule.workers, kMaxWorkers,
              "use about as many as the machine has cores or SMs");
  if (schedule.kind == ScheduleKind::split_k) {
    check_range("splits", schedule.splits, kMaxSplits,
                "split each tile into no more pieces than it has iterations");
  }
  if (schedule.order == TileOrder::swizzle) {
    check_range("group_m", schedule.group_m, kMaxBlock, "walk 4 to 16 tile rows together");
  }
}

}  // namespace tessera
