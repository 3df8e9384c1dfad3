#include "tessera/log.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/environment.hpp"

namespace tessera {
namespace {

enum class Receiver : int { unknown, nobody, standard_error, function };

// What is_logged reads. `unknown` until the environment has been asked.
std::atomic<Receiver> receiver{Receiver::unknown};

struct Registered {
  std::mutex mutex;
  std::shared_ptr<const LogFunction> function;
};

// Never destroyed: calls may come from other objects' destructors at exit.
Registered& registered() {
  static auto* const instance = new Registered;
  return *instance;
}

Receiver receiver_of_environment() {
  return environment_names("TESSERA_VERBOSE", "dispatch") ? Receiver::standard_error
                                                          : Receiver::nobody;
}

Receiver current_receiver() {
  Receiver current = receiver.load(std::memory_order_relaxed);
  if (current == Receiver::unknown) {
    // Where set_log came in between, its choice stands.
    receiver.compare_exchange_strong(current, receiver_of_environment());
    current = receiver.load();
  }
  return current;
}

}  // namespace

void set_log(LogFunction function) {
  Registered& state = registered();
  const std::lock_guard lock(state.mutex);
  const bool given = static_cast<bool>(function);
  state.function = given ? std::make_shared<const LogFunction>(std::move(function)) : nullptr;
  receiver = given ? Receiver::function : receiver_of_environment();
}

bool is_logged(LogTopic) {
  return current_receiver() != Receiver::nobody;
}

void log_line(std::string_view line) {
  std::shared_ptr<const LogFunction> function;
  {
    Registered& state = registered();
    const std::lock_guard lock(state.mutex);
    function = state.function;
  }
  if (function) {
    (*function)(line);
  } else if (current_receiver() == Receiver::standard_error) {
    // One write, so that lines of several threads do not mix.
    const std::string text = "tessera: " + std::string(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace tessera
