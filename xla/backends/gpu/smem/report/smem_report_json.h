#ifndef XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_REPORT_JSON_H_
#define XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_REPORT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/smem/report/smem_report.pb.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// A plan of shared memory as a message, as JSON and as readable text.

namespace xla::gpu {

// With the occupancy on each device. Bytes saturate at 2^32 - 1.
SmemReportProto SmemPlanToProto(const SmemPlan& plan,
                                absl::Span<const GpuDevice> devices);

// An object for one report, an array of objects for several.
absl::StatusOr<std::string> SmemReportsToJson(
    absl::Span<const SmemReportProto> reports);

// Totals, a line per buffer, barrier, pair of buffers that share bytes, and
// note; how many blocks fit a multiprocessor of each device.
std::string SmemReportToText(const SmemReportProto& report);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_REPORT_SMEM_REPORT_JSON_H_
