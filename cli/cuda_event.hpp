// CUDA's runtime with errors as exceptions, as far as the command uses it. Only for files of a CUDA
// build.
#pragma once

#if TESSERA_HAS_CUDA

#include <cuda_runtime_api.h>

namespace tessera::cli {

// Throws Error(out_of_memory) or Error(device) for anything but success.
void check_cuda(cudaError_t status);

// A point in the legacy default stream.
class CudaEvent {
 public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record() const;
  // Waits for the device to come here.
  double seconds_since(const CudaEvent& start) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tessera::cli

#endif
