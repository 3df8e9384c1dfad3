// The CUDA backend of a build without CUDA: links everywhere, and says what is missing.
#include "cuda/device_machine.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/gated_combine.hpp"
#include "cuda/run.hpp"
#include "cuda/turn.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {
namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::unsupported, "machine", "be a CPU in a build without CUDA", "a GPU",
              "install the CUDA toolkit and configure with -DTESSERA_CUDA=ON, or plan for "
              "host_machine()");
}

}  // namespace

void run_plan(const Plan&, std::span<const Operands>, const RunOptions&) {
  fail();
}

std::size_t workspace_bytes(const Plan&) {
  fail();
}

const DeviceLine* run_ragged_plan(const Plan&, const DeviceGroups&, ElementType,
                                  const RunOptions&) {
  fail();
}

std::string gated_kernel_name(ElementType) {
  fail();
}

void combine_gated(const GatedCombine&, const RunOptions&) {
  fail();
}

std::size_t ragged_workspace_bytes(const Plan&, const GroupSizes&) {
  fail();
}

DeviceFault take_fault(const RunOptions&) {
  fail();
}

void initialize_workspace(void*, std::size_t, void*) {
  fail();
}

std::unique_lock<std::recursive_mutex> take_turn(const RunOptions&) {
  fail();
}

int device_count() {
  return 0;
}

Machine cuda_machine(int) {
  fail();
}

int set_current_device(int) {
  fail();
}

void restore_current_device(int) noexcept {}

void* allocate(std::size_t, void*) {
  fail();
}

void release(void*, void*) noexcept {}

}  // namespace tessera::cuda
