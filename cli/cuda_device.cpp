#include "cli/cuda_device.hpp"

#include "tessera/error.hpp"

#if !TESSERA_HAS_CUDA

namespace tessera::cli {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::unsupported, "--device", "be in this build", "cuda",
              "configure with -DTESSERA_CUDA=ON, or use --device cpu");
}

}  // namespace

Machine cuda_machine() {
  fail();
}

std::vector<CudaDevice> cuda_devices() {
  return {};
}

CudaTiming run_on_cuda(const Plan&, Workload&, int) {
  fail();
}

}  // namespace tessera::cli

#endif
