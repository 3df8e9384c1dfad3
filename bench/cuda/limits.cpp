#include "bench/cuda/limits.hpp"

#include <memory>
#include <vector>

#include "bench/cuda/operands.hpp"
#include "cuda/check.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

constexpr int kRepeats = 7;
constexpr std::size_t kCopyBytes = std::size_t{2} << 30;
constexpr GemmShape kLarge{8192, 8192, 8192};

}  // namespace

ProcessorLimits measure_device_limits(Stopwatch& stopwatch, const Machine& machine,
                                      const GemmTypes& types, const CublasLt* peer) {
  ProcessorLimits limits;
  CaseMemory memory;
  OperandArena output;
  const std::vector<Operands> product =
      memory.operands({"", "", {kLarge}}, types, {}, output, stopwatch.stream());
  const Plan plan = make_plan(describe(product, 1, 0, {}), machine);
  std::vector<Contestant> contestants = {
      {"tessera", [&](cudaStream_t stream) { run(plan, product, {.stream = stream}); }}};
  std::unique_ptr<CublasLt::Product> theirs;
  if (peer != nullptr) theirs = peer->prepare(product[0], 1);
  if (theirs != nullptr && theirs->choices() > 0) {
    contestants.push_back({"cuBLASLt", [&](cudaStream_t stream) { theirs->run(0, stream); }});
  }
  const std::vector<Sample> samples = stopwatch.race(contestants, kRepeats);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double rate = flops_of(plan.problem) / samples[i].median;
    if (rate <= limits.flops_per_second) continue;
    limits.flops_per_second = rate;
    limits.flops_source = "8192x8192x8192 by " + contestants[i].name;
  }

  const DeviceMemory from(kCopyBytes);
  const DeviceMemory to(kCopyBytes);
  const Contestant copy{"copy", [&](cudaStream_t stream) {
                          cuda::check(cudaMemcpyAsync(to.data(), from.data(), kCopyBytes,
                                                      cudaMemcpyDeviceToDevice, stream),
                                      "copying on the device");
                        }};
  limits.bytes_per_second =
      2.0 * static_cast<double>(kCopyBytes) / stopwatch.race({copy}, kRepeats)[0].median;
  limits.bytes_source = "a copy of 2 GiB, read and written";
  return limits;
}

}  // namespace tessera::bench
