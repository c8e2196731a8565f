#ifndef XLA_HLO_ANALYSIS_COST_GPU_DEVICE_TEXTS_H_
#define XLA_HLO_ANALYSIS_COST_GPU_DEVICE_TEXTS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla::gpu {

// The files devices/NAME.textproto, embedded by the build.
struct GpuDeviceText {
  absl::string_view name;
  absl::string_view text;
};

// By name.
absl::Span<const GpuDeviceText> GpuDeviceTexts();

}  // namespace xla::gpu

#endif  // XLA_HLO_ANALYSIS_COST_GPU_DEVICE_TEXTS_H_
