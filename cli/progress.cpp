#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tessera::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
// Shorter work is over before a bar could be read.
constexpr auto kPatience = std::chrono::milliseconds(300);

bool is_terminal(int file_descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(file_descriptor) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

int terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string duration(double seconds) {
  const auto whole = static_cast<long>(std::llround(seconds));
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

std::string progress_line(const std::string& label, double done, double total,
                          const std::string& unit, double seconds, int width) {
  constexpr int kBar = 24;
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 1.0;
  const int filled = static_cast<int>(share * kBar);
  std::string line = fmt::format("{} [{}{}] {:3.0f} %", label, std::string(filled, '#'),
                                 std::string(kBar - filled, '.'), 100 * share);
  if (done > 0 && seconds > 0) {
    line += fmt::format("  {:.3g} {}/s, {} left", done / seconds, unit,
                        duration(seconds * (1 - share) / share));
  }
  return line.substr(0, static_cast<std::size_t>(std::max(width - 1, 0)));
}

bool may_colour(int file_descriptor) {
  return is_terminal(file_descriptor) && std::getenv("NO_COLOR") == nullptr;
}

Progress::Progress(std::string label, double total, std::string unit)
    : label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      shown_(is_terminal(STDERR_FILENO)),
      start_(Clock::now()),
      drawn_(start_) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (shown_ && drawn_ != start_) std::fputs("\r\x1b[K", stderr);
}

void Progress::at(double done) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || now - start_ < kPatience || now - drawn_ < kRedraw) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = progress_line(label_, done, total_, unit_, seconds, terminal_width());
  if (may_colour(STDERR_FILENO)) {
    std::fprintf(stderr, "\r\x1b[36m%s\x1b[0m\x1b[K", line.c_str());
  } else {
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  }
  std::fflush(stderr);
}

}  // namespace tessera::cli
