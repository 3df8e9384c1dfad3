// The same on a GPU: device memory and a stream of the user's own, plan once and run. Without a
// GPU, or with a library that was built without CUDA, it says so.
#include <cuda_runtime_api.h>
#include <tessera/device.hpp>
#include <tessera/tessera.hpp>

#include <cstdio>
#include <vector>

int main() {
  if (tessera::device_count() == 0) {
    std::printf("no CUDA device that this library can use\n");
    return 0;
  }
  constexpr std::int64_t kEdge = 300;
  constexpr std::size_t kBytes = kEdge * kEdge * sizeof(float);
  std::vector<float> ones(kEdge * kEdge, 1.0f);
  std::vector<float> c(kEdge * kEdge);
  float* memory[3] = {};
  for (float*& matrix : memory) {
    if (cudaMalloc(reinterpret_cast<void**>(&matrix), kBytes) != cudaSuccess) return 1;
    cudaMemcpy(matrix, ones.data(), kBytes, cudaMemcpyHostToDevice);
  }
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return 1;

  {
    const tessera::Device device;
    const tessera::Operands product{tessera::row_major(memory[0], kEdge, kEdge),
                                    tessera::row_major(memory[1], kEdge, kEdge),
                                    tessera::row_major(memory[2], kEdge, kEdge),
                                    {}};
    const tessera::Plan plan =
        make_plan(tessera::describe({&product, 1}, 1, 0, {}), device.machine());
    const tessera::Workspace workspace(plan, stream);
    run(plan, {&product, 1}, workspace.options());
    cudaMemcpyAsync(c.data(), memory[2], kBytes, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
  cudaStreamDestroy(stream);
  for (float* const matrix : memory) cudaFree(matrix);
  for (const float value : c) {
    if (value != kEdge) {
      std::printf("wrong product on the device: %g\n", value);
      return 1;
    }
  }
  std::printf("a product on the device, by a plan, on a stream\n");
  return 0;
}
