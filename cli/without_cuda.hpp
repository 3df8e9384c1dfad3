// What the GPU's parts of a verb do in a build without them.
#pragma once

#include <string>

#include "tessera/error.hpp"

namespace tessera::cli {

// Throws Error(unsupported); `remedy` says how a build gets them.
[[noreturn]] inline void refuse_cuda(
    const std::string& remedy = "configure with -DTESSERA_CUDA=ON") {
  throw Error(ErrorCode::unsupported, "--device", "be in this build", "cuda",
              remedy + ", or use --device cpu");
}

// The same of the GPU's benchmark.
[[noreturn]] inline void refuse_cuda_benchmark() {
  refuse_cuda("configure with -DTESSERA_CUDA=ON where cublasLt.h is installed");
}

}  // namespace tessera::cli
