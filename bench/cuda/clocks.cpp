// Clocks, power and temperature through libnvidia-ml, which every driver brings; opened at run
// time.
#include <array>
#include <memory>

#include "bench/cuda/device.hpp"
#include "bench/shared_library.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {
namespace {

// The few declarations of nvml.h that are needed; the interface is stable.
using NvmlDevice = void*;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlClockMemory = 2;
constexpr int kNvmlTemperatureGpu = 0;

class Nvml {
 public:
  Nvml() {
    try {
      library_ = std::make_unique<SharedLibrary>("nvidia-ml", "",
                                                 std::vector<std::string>{"libnvidia-ml.so.1"});
      if (library_->require<int()>("nvmlInit_v2")() != 0) return;
      const auto find =
          library_->require<int(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
      if (find(0, &device_) != 0) device_ = nullptr;
    } catch (const Error&) {
      device_ = nullptr;
    }
  }

  ClockReading read() const {
    ClockReading reading;
    if (device_ == nullptr) return reading;
    const auto number = [&](const char* function, int what) {
      unsigned value = 0;
      const auto call = library_->find<int(NvmlDevice, int, unsigned*)>(function);
      return call != nullptr && call(device_, what, &value) == 0 ? static_cast<int>(value) : 0;
    };
    reading.sm_mhz = number("nvmlDeviceGetClockInfo", kNvmlClockSm);
    reading.memory_mhz = number("nvmlDeviceGetClockInfo", kNvmlClockMemory);
    reading.celsius = number("nvmlDeviceGetTemperature", kNvmlTemperatureGpu);
    unsigned milliwatts = 0;
    const auto power = library_->find<int(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerUsage");
    if (power != nullptr && power(device_, &milliwatts) == 0) reading.watts = milliwatts * 1e-3;
    return reading;
  }

 private:
  std::unique_ptr<SharedLibrary> library_;
  NvmlDevice device_ = nullptr;
};

}  // namespace

ClockReading read_clocks() {
  static const Nvml nvml;
  return nvml.read();
}

}  // namespace tessera::bench
