// A thread's turn on a stream: what a call queues in the library's workspace (records, copies, the
// product) belongs together, and no other thread's call on that stream may come in between.
// Compiles and links everywhere, like run.hpp.
#pragma once

#include <mutex>

#include "tessera/tessera.hpp"

namespace tessera::cuda {

// Held until all of the call is queued; a call within a call takes it again. Nothing to hold with a
// caller's workspace. Throws Error(invalid_argument) where RunOptions::device is not the thread's
// current device.
std::unique_lock<std::recursive_mutex> take_turn(const RunOptions& options);

}  // namespace tessera::cuda
