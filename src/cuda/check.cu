#include "cuda/check.hpp"

#include <string>

#include "tessera/error.hpp"

namespace tessera::cuda {

void check(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const auto code = status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory
                    : status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver
                        ? ErrorCode::unsupported
                        : ErrorCode::device;
  throw Error(code, std::string(doing) + ": " + cudaGetErrorString(status) + " (" +
                        cudaGetErrorName(status) + ")");
}

void check_nothing_is_pending() {
  const cudaError_t pending = cudaPeekAtLastError();
  if (pending == cudaSuccess) return;
  throw Error(ErrorCode::device, std::string("an earlier CUDA call of this program failed: ") +
                                     cudaGetErrorString(pending) + " (" +
                                     cudaGetErrorName(pending) +
                                     "); take its error with cudaGetLastError(), then call again");
}

}  // namespace tessera::cuda
