#include "tessera/device.hpp"

#include <new>
#include <string>
#include <utility>

#include "cuda/device_memory.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

// Of cache lines and the widest vectors.
constexpr std::align_val_t kAlignment{64};

}  // namespace

Device::Device(int ordinal)
    : ordinal_(ordinal), former_(ordinal), machine_(device_machine(ordinal)) {
  former_ = cuda::set_current_device(ordinal);
}

Device::~Device() {
  cuda::restore_current_device(former_);
}

RunOptions Device::options(void* stream) const {
  RunOptions options;
  options.device = ordinal_;
  options.stream = stream;
  return options;
}

Workspace::Workspace(const Plan& plan, void* stream)
    : Workspace(workspace_bytes(plan), plan.machine.kind, stream) {}

Workspace::Workspace(const Plan& plan, const RaggedProducts& products, void* stream)
    : Workspace(ragged_workspace_bytes(plan, products), plan.machine.kind, stream) {}

Workspace::Workspace(std::size_t size, MachineKind kind, void* stream)
    : size_(size), stream_(stream), kind_(kind) {
  if (size_ == 0) return;
  if (kind_ == MachineKind::gpu) {
    cuda::DeviceMemory memory(size_, stream_);
    initialize_workspace(memory.data(), size_, stream_);
    data_ = memory.give();
    return;
  }
  data_ = ::operator new(size_, kAlignment, std::nothrow);
  if (data_ == nullptr) {
    throw Error(ErrorCode::out_of_memory, "workspace",
                "have " + std::to_string(size_) + " bytes of host memory", "a failed allocation",
                "plan with fewer workers or smaller tiles");
  }
}

Workspace::~Workspace() {
  if (data_ == nullptr) return;
  if (kind_ == MachineKind::gpu) {
    cuda::release(data_, stream_);
  } else {
    ::operator delete(data_, kAlignment);
  }
}

Workspace::Workspace(Workspace&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      stream_(other.stream_),
      kind_(other.kind_) {}

Workspace& Workspace::operator=(Workspace&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(stream_, other.stream_);
  std::swap(kind_, other.kind_);
  return *this;
}

RunOptions Workspace::options() const {
  RunOptions options;
  options.stream = stream_;
  options.workspace = data_;
  options.workspace_size = size_;
  return options;
}

}  // namespace tessera
