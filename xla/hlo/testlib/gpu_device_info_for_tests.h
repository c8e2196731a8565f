#ifndef XLA_HLO_TESTLIB_GPU_DEVICE_INFO_FOR_TESTS_H_
#define XLA_HLO_TESTLIB_GPU_DEVICE_INFO_FOR_TESTS_H_

#include "xla/hlo/analysis/cost/device_description.h"

namespace xla::gpu {

// Devices that tests are written for: those of gpu_devices.h, with the compute
// capability that the test wants to see.
class TestGpuDeviceInfo {
 public:
  static stream_executor::DeviceDescription A100SXMDeviceInfo(
      stream_executor::GpuComputeCapability cc =
          stream_executor::CudaComputeCapability(8, 0));
  static stream_executor::DeviceDescription RTXA6000DeviceInfo(
      stream_executor::GpuComputeCapability cc =
          stream_executor::CudaComputeCapability(8, 9));
  static stream_executor::DeviceDescription H100SXMDeviceInfo(
      stream_executor::GpuComputeCapability cc =
          stream_executor::CudaComputeCapability(9, 0));
  static stream_executor::DeviceDescription B200SXMDeviceInfo(
      stream_executor::GpuComputeCapability cc =
          stream_executor::CudaComputeCapability(10, 0));
  static stream_executor::DeviceDescription AMDMI210DeviceInfo();
  static stream_executor::DeviceDescription AMDMI350DeviceInfo();
  static stream_executor::DeviceDescription AMDRX7900DeviceInfo();
  // Nothing here is built for one vendor: the A6000.
  static stream_executor::DeviceDescription CudaOrRocmDeviceInfo();
};

}  // namespace xla::gpu

#endif  // XLA_HLO_TESTLIB_GPU_DEVICE_INFO_FOR_TESTS_H_
