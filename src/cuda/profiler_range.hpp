// A named range in NVIDIA's profilers (NVTX, domain "tessera"), as long as the object lives. Costs
// a few nanoseconds where no profiler listens.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace tessera::cuda {

class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &attributes);
  }
  ~ProfilerRange() { nvtxDomainRangePop(domain()); }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t handle = nvtxDomainCreateA("tessera");
    return handle;
  }
};

}  // namespace tessera::cuda
