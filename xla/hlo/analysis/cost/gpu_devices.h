#ifndef XLA_HLO_ANALYSIS_COST_GPU_DEVICES_H_
#define XLA_HLO_ANALYSIS_COST_GPU_DEVICES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.h"

namespace xla::gpu {

// The devices that are built in, sorted: a100, a6000, b200, h100, h200,
// h200_measured, mi210, mi300, mi350, rx7900, v100. devices/NAME.textproto
// holds the figures and where they come from.
std::vector<std::string> GpuDeviceNames();

// The device called `name`, ignoring case. NotFound, listing the known names,
// if there is none.
absl::StatusOr<stream_executor::DeviceDescription> GpuDeviceByName(
    absl::string_view name);

// A device from the text form of GpuDeviceInfoProto, or of GpuTargetConfigProto
// with one inside. InvalidArgument, as `FILE:LINE:COLUMN: reason`, where the
// text is malformed, and `FILE: reason` where a figure that every estimate
// divides by (cores, FPUs, clock, bandwidth, threads of a warp, block and core)
// is not positive or a size is negative.
absl::StatusOr<stream_executor::DeviceDescription> GpuDeviceFromText(
    absl::string_view text, absl::string_view file);

// A device by name, or from a file if `device` has a '/' or a '.' in it.
// Errors: those of the above, and NotFound for a file that cannot be read.
absl::StatusOr<stream_executor::DeviceDescription> LoadGpuDevice(
    absl::string_view device);

// `given` if there is one, else LoadGpuDevice(device): for passes that are told
// their device by a description or by a name.
absl::StatusOr<stream_executor::DeviceDescription> GivenOrLoadedGpuDevice(
    const std::optional<stream_executor::DeviceDescription>& given,
    absl::string_view device);

}  // namespace xla::gpu

#endif  // XLA_HLO_ANALYSIS_COST_GPU_DEVICES_H_
