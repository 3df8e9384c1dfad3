// Threads of a call: OpenMP's, so that a program has one pool and not two. None are started before
// a call asks for more than one.
#pragma once

#include <type_traits>

namespace tessera::cpu {

// CPUs that this process may use: the affinity mask, lowered by a cgroup's quota. Asked once.
int usable_cpus();

// How many threads a call without a wish of its own gets: usable_cpus, or 1 inside a caller's
// parallel region, whose other threads have the remaining CPUs.
int default_threads();

// How often a thread that has nothing to do may look for what others leave it: `most` times, but
// once where the call's threads share CPUs, and waiting would keep others from working.
inline int most_looks(int threads, int most) {
  return threads <= usable_cpus() ? most : 1;
}

using ThreadFunction = void (*)(void* context);
void call_on_threads(int threads, ThreadFunction function, void* context);

// The calling thread's number among those of such a call, from 0, and how many came; if fewer than
// were asked for, numbers may repeat.
int thread_number();
int team_size();

// Calls f on up to `threads` threads at once, the caller's among them, and returns when all calls
// have. Fewer calls are made where threads are not to be had, so f must take its work from shares
// that are left (claims.hpp). f must not throw.
template <class F>
void on_threads(int threads, F& f) {
  if (threads <= 1) {
    f();
    return;
  }
  call_on_threads(
      threads, [](void* context) { (*static_cast<F*>(context))(); }, &f);
}

}  // namespace tessera::cpu
