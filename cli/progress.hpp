// A progress bar on stderr: share done, rate, time left. It shows only where stderr is a terminal,
// so that pipes and logs stay clean.
#pragma once

#include <chrono>
#include <string>

namespace tessera::cli {

class Progress {
 public:
  // `total` in `unit`, e.g. 21 "shapes".
  Progress(std::string label, double total, std::string unit);
  // Removes the bar.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second.
  void at(double done);
  // Removes the bar until it is drawn again, to make room for output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  double total_;
  std::string unit_;
  bool shown_;
  Clock::time_point start_;
  Clock::time_point drawn_;
};

// Whether a stream may carry colours: a terminal, and no NO_COLOR in the environment.
bool may_colour(int file_descriptor);

// The text of one bar, for a line of `width` characters.
std::string progress_line(const std::string& label, double done, double total,
                          const std::string& unit, double seconds, int width);

}  // namespace tessera::cli
