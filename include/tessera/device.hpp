// A CUDA device and workspaces, owned by objects. Compiles and links everywhere; without a device
// the constructors throw Error(unsupported).
//
//   Device device(0);                                  // current for this thread while it lives
//   Plan plan = make_plan(problem, device.machine());
//   Workspace workspace(plan, stream);
//   run(plan, groups, workspace.options());            // queued on the stream; repeat as often as
//   wanted
#pragma once

#include <cstddef>

#include "tessera/export.hpp"
#include "tessera/grouped.hpp"
#include "tessera/machine.hpp"
#include "tessera/plan.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

class TESSERA_API Device {
 public:
  explicit Device(int ordinal = 0);
  // Makes the device current again that was so before.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  const Machine& machine() const { return machine_; }

  // For gemm and grouped_gemm on operands in this device's memory.
  RunOptions options(void* stream = nullptr) const;

 private:
  int ordinal_;
  int former_;
  Machine machine_;
};

// Memory for runs of a plan that follow one another: on the host, or for a GPU's plan on the
// current device, allocated and freed in the order of `stream`, which has to live longer. A graph
// that was captured with it must not run after it is gone.
class TESSERA_API Workspace {
 public:
  explicit Workspace(const Plan& plan, void* stream = nullptr);
  // For run_ragged on these views, whatever the sizes.
  Workspace(const Plan& plan, const RaggedProducts& products, void* stream = nullptr);
  ~Workspace();
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&& other) noexcept;

  void* data() const { return data_; }
  std::size_t size() const { return size_; }

  // With this memory and its stream.
  RunOptions options() const;

 private:
  Workspace(std::size_t size, MachineKind kind, void* stream);

  void* data_ = nullptr;
  std::size_t size_ = 0;
  void* stream_ = nullptr;
  MachineKind kind_ = MachineKind::cpu;
};

}  // namespace tessera
