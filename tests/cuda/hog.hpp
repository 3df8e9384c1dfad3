// A kernel that occupies multiprocessors until it is told to stop, to run products beside it.
#pragma once

#include "cuda/device.hpp"

namespace tessera::test {

class Hog {
 public:
  // Fills all multiprocessors but a few, on a stream of its own: where there are clusters, the few
  // can hold one of eight blocks. Returns once all its blocks run.
  Hog();
  ~Hog();
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;

  // It ends by itself after some seconds, so that a failing test cannot leave the device occupied.
  bool is_running() const;

 private:
  struct Shared {
    int running;
    int stop;
  };
  Stream stream_;
  Shared* shared_ = nullptr;  // host memory that the device sees
};

}  // namespace tessera::test
