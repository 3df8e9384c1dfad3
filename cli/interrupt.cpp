#include "cli/interrupt.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

volatile std::sig_atomic_t signal_seen = 0;

constexpr const char* kMessage = "stopped on request; nothing was written";

extern "C" void note_signal(int) {
  signal_seen = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  // The default action comes back after the first signal, so that a second one always works.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() noexcept {
  return signal_seen != 0;
}

void throw_if_interrupted() {
  if (is_interrupted()) throw Error(ErrorCode::interrupted, kMessage);
}

void call_interruptibly(const std::function<void()>& work, const std::function<void()>& tick) {
  throw_if_interrupted();
  std::packaged_task<void()> task(work);
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  while (done.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) {
    if (is_interrupted()) {
      std::fprintf(stderr, "\ntessera: %s\n", kMessage);
      std::fflush(nullptr);
      std::_Exit(EXIT_FAILURE);
    }
    tick();
  }
  thread.join();
  done.get();
}

}  // namespace tessera::cli
