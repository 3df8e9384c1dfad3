// Ctrl-C: the first one asks the command to stop and sets a flag, which loops between pieces of
// work look at; the second one ends the process at once.
#pragma once

#include <functional>

namespace tessera::cli {

// For SIGINT and SIGTERM. Call once, before any thread is started.
void install_interrupt_handler();

bool is_interrupted() noexcept;

// Throws Error(interrupted) once a signal has come.
void throw_if_interrupted();

// Calls `work` on a thread of its own and waits for it; exceptions come back to the caller. On the
// waiting thread `tick` is called about ten times a second. A matrix product cannot be stopped half
// way, so a signal ends the process with exit code 1: `work` must own no file that would be left.
void call_interruptibly(const std::function<void()>& work, const std::function<void()>& tick);

}  // namespace tessera::cli
