#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "core/catalogue.hpp"
#include "plan/cost.hpp"
#include "schedule/grouped.hpp"
#include "schedule/partition_of.hpp"
#include "schedule/traced_item.hpp"
#include "schedule/worker_items.hpp"

namespace tessera::report {
namespace {

constexpr int kMeasured = 1;
constexpr int kPredicted = 2;

// Microseconds, as the format wants them, to the nanosecond.
std::string time(std::int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}
std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}
std::string time(double seconds) {
  return time(nanoseconds(seconds));
}
// Between two rounded moments: rounded by itself, an item could end after the next has begun.
std::string duration(double from, double to) {
  return time(nanoseconds(to) - nanoseconds(from));
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') out += '\\';
    if (static_cast<unsigned char>(byte) >= 0x20) out += byte;
  }
  return out + "\"";
}

class Writer {
 public:
  void process(int pid, const std::string& name) {
    metadata("process_name", pid, 0, name);
    add(fmt::format(
        R"("name":"process_sort_index","ph":"M","pid":{},"tid":0,"args":{{"sort_index":{}}})", pid,
        pid));
  }
  void track(int pid, std::size_t tid, const std::string& name) {
    metadata("thread_name", pid, tid, name);
  }

  void item(int pid, std::size_t tid, const TracedItem& item) {
    const std::string tile = fmt::format("tile ({}, {})", item.tile_m, item.tile_n);
    const std::string kind = item.peers > 1 ? "piece" : "tile";
    add(fmt::format(
        R"("name":{},"cat":{},"ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{"worker":{},"part":{},"group":{},"k_begin":{},"k_end":{},"peer":{},"peers":{},"data_us":{},"waiting_for_peers_us":0}})",
        quoted(tile), quoted(kind), time(item.start), duration(item.start, item.multiplied), pid,
        tid, item.worker, item.part, item.group, item.k_begin, item.k_end, item.peer, item.peers,
        time(item.data_seconds)));
    if (item.peers == 1 && item.end <= item.multiplied) return;
    const char* const doing = item.peers == 1   ? "write "
                              : item.wrote_tile ? "add, write "
                                                : "publish ";
    add(fmt::format(
        R"("name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{"peer":{},"peers":{}}})",
        quoted(doing + tile), item.peers == 1 ? "write" : "fix-up", time(item.multiplied),
        duration(item.multiplied, item.end), pid, tid, item.peer, item.peers));
  }

  void arrow(int pid, std::size_t from_tid, double from, std::size_t to_tid, double to) {
    ++arrows_;
    add(fmt::format(
        R"("name":"partial sum","cat":"fix-up","ph":"s","id":{},"ts":{},"pid":{},"tid":{})",
        arrows_, time(from), pid, from_tid));
    add(fmt::format(
        R"("name":"partial sum","cat":"fix-up","ph":"f","bp":"e","id":{},"ts":{},"pid":{},"tid":{})",
        arrows_, time(to), pid, to_tid));
  }

  std::string str() const {
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  void metadata(const char* what, int pid, std::size_t tid, const std::string& name) {
    add(fmt::format(R"("name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}})", what, pid,
                    tid, quoted(name)));
  }
  void add(const std::string& fields) {
    if (!events_.empty()) events_ += ",\n";
    events_ += "{" + fields + "}";
  }

  std::string events_;
  int arrows_ = 0;
};

// `track`: what a track is called where the trace does not say which SM it was.
void write_trace(const Trace& trace, int pid, const char* track, Writer& out) {
  using Tile = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
  struct Piece {
    std::size_t tid;
    const TracedItem* item;
  };
  std::map<Tile, std::vector<Piece>> shared;
  for (std::size_t tid = 0; tid < trace.tracks.size(); ++tid) {
    out.track(pid, tid,
              trace.sms.empty() ? fmt::format("{} {}", track, tid)
                                : fmt::format("SM {}", trace.sms[tid]));
    for (const TracedItem& item : trace.tracks[tid]) {
      out.item(pid, tid, item);
      if (item.peers > 1) {
        shared[{item.group, item.tile_m, item.tile_n, item.part}].push_back({tid, &item});
      }
    }
  }
  for (const auto& [tile, pieces] : shared) {
    const auto writer = std::find_if(pieces.begin(), pieces.end(),
                                     [](const Piece& piece) { return piece.item->wrote_tile; });
    if (writer == pieces.end()) continue;
    for (const Piece& piece : pieces) {
      if (&piece == &*writer) continue;
      const double from = piece.item->multiplied;
      out.arrow(pid, piece.tid, from, writer->tid, std::max(from, writer->item->multiplied));
    }
  }
}

// Seconds of one MAC iteration, for each group.
std::vector<double> iteration_seconds(const Plan& plan) {
  const TileProfile profile =
      profile_tiles(shape_runs(plan.problem), plan.problem, plan.machine, plan.tile,
                    find_kernel(plan.kernel), plan.schedule.workers);
  std::vector<double> seconds;
  for (const GemmShape& shape : plan.problem.groups) {
    double found = 0;
    for (const RunProfile& run : profile.runs) {
      const bool same_depth = run.run.shape.k == (plan.problem.alpha == 0 ? 0 : shape.k);
      if (run.run.shape.m == shape.m && run.run.shape.n == shape.n && same_depth) {
        found = run.time.iteration(1);
        break;
      }
    }
    seconds.push_back(found);
  }
  return seconds;
}

// The piece that ends last of each shared tile writes it.
void mark_writers(Trace& trace) {
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, TracedItem*> last;
  for (std::vector<TracedItem>& track : trace.tracks) {
    for (TracedItem& item : track) {
      TracedItem*& found = last[{item.group, item.tile_m, item.tile_n}];
      if (found == nullptr || item.end > found->end) found = &item;
    }
  }
  for (auto& [tile, item] : last) item->wrote_tile = true;
}

}  // namespace

Trace predict_trace(const Plan& plan, int threads) {
  const HostIterationSpace space(plan.problem.groups, plan.tile);
  const Partition partition = partition_of(plan, space);
  const WorkerItems items(space, partition);
  const std::vector<double> iteration = iteration_seconds(plan);
  Trace trace;
  trace.tracks.resize(static_cast<std::size_t>(std::clamp(threads, 1, partition.workers)));
  std::vector<double> busy_until(trace.tracks.size(), 0);
  for (std::int32_t worker = 0; worker < partition.workers; ++worker) {
    const auto next = std::min_element(busy_until.begin(), busy_until.end());
    const auto track = static_cast<std::size_t>(next - busy_until.begin());
    for (const WorkItem& item : items.of(worker)) {
      TracedItem traced = traced_item(worker, item);
      traced.start = *next;
      traced.multiplied = traced.start + (item.k_end - item.k_begin) *
                                             iteration[static_cast<std::size_t>(item.group)];
      traced.end = traced.multiplied + plan.machine.cost.tile_seconds;
      *next = traced.end;
      trace.tracks[track].push_back(traced);
    }
  }
  mark_writers(trace);
  const double end = *std::max_element(busy_until.begin(), busy_until.end());
  const double launch = std::min(plan.machine.cost.launch_seconds, 0.5 * plan.cost.seconds);
  const double stretch = end > 0 ? (plan.cost.seconds - launch) / end : 1;
  for (std::vector<TracedItem>& track : trace.tracks) {
    for (TracedItem& item : track) {
      for (double* at : {&item.start, &item.multiplied, &item.end}) *at = launch + *at * stretch;
    }
  }
  std::erase_if(trace.tracks, [](const std::vector<TracedItem>& track) { return track.empty(); });
  trace.seconds = plan.cost.seconds;
  return trace;
}

std::string chrome_trace(const Plan& plan, const Trace& measured, const Trace& predicted) {
  Writer out;
  out.process(kMeasured, "measured on " + plan.machine.name);
  write_trace(measured, kMeasured, "thread", out);
  out.process(kPredicted, "predicted");
  write_trace(predicted, kPredicted, plan.machine.kind == MachineKind::gpu ? "worker" : "thread",
              out);
  return out.str();
}

}  // namespace tessera::report
