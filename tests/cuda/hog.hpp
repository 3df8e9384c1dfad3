// A kernel that occupies multiprocessors until it is told to stop, to run products beside it.
#pragma once

#include "cuda/device.hpp"

namespace tessera::test {

class Hog {
 public:
  // Fills `blocks` multiprocessors with one block each, on a stream of its own. Returns once all of
  // them run.
  explicit Hog(int blocks);
  ~Hog();
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;

 private:
  struct Shared {
    int running;
    int stop;
  };
  Stream stream_;
  Shared* shared_ = nullptr;  // host memory that the device sees
};

}  // namespace tessera::test
