#include "cli/cuda_event.hpp"

#if TESSERA_HAS_CUDA

#include <string>

#include "tessera/error.hpp"

namespace tessera::cli {

void check_cuda(cudaError_t status) {
  if (status == cudaSuccess) return;
  // A refused allocation leaves its mark on the next call otherwise.
  cudaGetLastError();
  throw Error(status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
              std::string("the CUDA device reports: ") + cudaGetErrorString(status));
}

CudaEvent::CudaEvent() {
  check_cuda(cudaEventCreate(&event_));
}

CudaEvent::~CudaEvent() {
  cudaEventDestroy(event_);
}

void CudaEvent::record() const {
  check_cuda(cudaEventRecord(event_, nullptr));
}

double CudaEvent::seconds_since(const CudaEvent& start) const {
  float milliseconds = 0;
  check_cuda(cudaEventSynchronize(event_));
  check_cuda(cudaEventElapsedTime(&milliseconds, start.event_, event_));
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace tessera::cli

#endif
