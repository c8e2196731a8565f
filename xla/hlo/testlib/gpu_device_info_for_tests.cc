#include "xla/hlo/testlib/gpu_device_info_for_tests.h"

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;
using ::stream_executor::GpuComputeCapability;

DeviceDescription Device(absl::string_view name) {
  absl::StatusOr<DeviceDescription> device = GpuDeviceByName(name);
  CHECK_OK(device.status());
  return *device;
}

DeviceDescription Device(absl::string_view name,
                         const GpuComputeCapability& cc) {
  DeviceDescription device = Device(name);
  device.set_gpu_compute_capability(cc);
  return device;
}

}  // namespace

DeviceDescription TestGpuDeviceInfo::A100SXMDeviceInfo(
    GpuComputeCapability cc) {
  return Device("a100", cc);
}
DeviceDescription TestGpuDeviceInfo::RTXA6000DeviceInfo(
    GpuComputeCapability cc) {
  return Device("a6000", cc);
}
DeviceDescription TestGpuDeviceInfo::H100SXMDeviceInfo(
    GpuComputeCapability cc) {
  return Device("h100", cc);
}
DeviceDescription TestGpuDeviceInfo::B200SXMDeviceInfo(
    GpuComputeCapability cc) {
  return Device("b200", cc);
}
DeviceDescription TestGpuDeviceInfo::AMDMI210DeviceInfo() {
  return Device("mi210");
}
DeviceDescription TestGpuDeviceInfo::AMDMI350DeviceInfo() {
  return Device("mi350");
}
DeviceDescription TestGpuDeviceInfo::AMDRX7900DeviceInfo() {
  return Device("rx7900");
}
DeviceDescription TestGpuDeviceInfo::CudaOrRocmDeviceInfo() {
  return Device("a6000");
}

}  // namespace xla::gpu
