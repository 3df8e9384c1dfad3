// Tells the thread sanitizer of an order it cannot see. GCC's OpenMP runtime starts and joins its
// threads with futexes of its own, so without these two calls around a parallel region every access
// that the fork or the join orders would be reported as a race. They compile to nothing elsewhere.
#pragma once

#ifdef __SANITIZE_THREAD__
#define TESSERA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TESSERA_THREAD_SANITIZER 1
#endif
#endif

#ifdef TESSERA_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
// For the function that holds the `omp parallel`: the compiler's own hand-over of captured
// variables goes unreported, while what the region calls is watched as ever.
#define TESSERA_NOT_WATCHED __attribute__((no_sanitize("thread"), noinline))
#else
#define TESSERA_NOT_WATCHED
#endif

namespace tessera {

// All that this thread has done so far happens before whatever follows happens_after(at).
inline void happens_before([[maybe_unused]] void* at) {
#ifdef TESSERA_THREAD_SANITIZER
  __tsan_release(at);
#endif
}

inline void happens_after([[maybe_unused]] void* at) {
#ifdef TESSERA_THREAD_SANITIZER
  __tsan_acquire(at);
#endif
}

}  // namespace tessera
