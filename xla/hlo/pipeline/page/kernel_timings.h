#ifndef XLA_HLO_PIPELINE_PAGE_KERNEL_TIMINGS_H_
#define XLA_HLO_PIPELINE_PAGE_KERNEL_TIMINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/pipeline/page/kernel_report.pb.h"
#include "xla/hlo/pipeline/page/memory_page.pb.h"

namespace xla {

// What a CUDA program measured (`program … --timings=measured.json`) beside
// what the model of a device says of the same kernels.

// Reads what the program wrote. InvalidArgument, with `file`, for what is not
// such JSON, a kernel without a name or with a time that is not positive, and a
// name that appears twice.
absl::StatusOr<KernelTimings> ParseKernelTimings(absl::string_view json,
                                                 absl::string_view file);

// A kernel of a page that was measured; times are of one run.
struct MeasuredKernel {
  int kernel;  // of MemoryPage.kernels
  double modelled_microseconds;
  double measured_microseconds;
};

// The kernels of `page` that `timings` has, in the page's order. Kernels are
// called by what programs call them: instructions' names with `_` for what is
// no letter or digit. The page has to list all kernels.
std::vector<MeasuredKernel> FindMeasured(const MemoryPage& page,
                                         const KernelTimings& timings);

// How model and program compare over these kernels, and which names the page
// does not know. FailedPrecondition where the page has none of them.
absl::StatusOr<KernelReport::Measured> CompareWithMeasured(
    const MemoryPage& page, const KernelTimings& timings,
    const std::vector<MeasuredKernel>& kernels);

// `device` with the rates at which the model would predict the measured times:
// memory bandwidth from kernels that wait for memory, clocks (of the cores and
// of the units for matrices) from those that wait for arithmetic. Each rate is
// scaled by the weighted median of modeled over measured time, after
// subtracting launch overhead; kernels that take no longer than their launch
// are ignored. A rate that no kernel depends on is kept.
//
// FailedPrecondition if no kernel determines any rate.
absl::StatusOr<stream_executor::GpuDeviceInfoProto> CalibrateDevice(
    const MemoryPage& page, const std::vector<MeasuredKernel>& kernels,
    const stream_executor::DeviceDescription& device);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_KERNEL_TIMINGS_H_
