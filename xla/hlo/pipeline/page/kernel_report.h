#ifndef XLA_HLO_PIPELINE_PAGE_KERNEL_REPORT_H_
#define XLA_HLO_PIPELINE_PAGE_KERNEL_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/pipeline/page/kernel_report.pb.h"
#include "xla/hlo/pipeline/page/kernel_timings.h"
#include "xla/hlo/pipeline/page/memory_page.pb.h"

namespace xla {

// The kernels of a page, those of equal layers in one row:
//
//   step: 48 kernels, 96 runs, 1.2 GiB read and written, 512 us on h100
//         time  share  runs       bytes  roofline    kernel
//       240 us  46.9%    48   600.0 MiB  97% memory  24 x fusion f32[64,128]: …
//        …      the other 12
//
// Times are those of a model, of kernels one after the other. The page has to
// list all kernels (MemoryPageOptions.max_kernels). Rows sum up what is known
// of them from `measured` (FindMeasured()). O(kernels * log(kernels)).
KernelReport BuildKernelReport(const MemoryPage& page,
                               const std::vector<MeasuredKernel>& measured);

// With this many rows. Where the report has what a program measured, rows have
// that and its ratio to the model's time, too:
//
//   measured 46 of 48 kernels, 730 us on NVIDIA H100, 1.43 x the model's 512
//   us;
//     median error 21 %, rank correlation 0.97
//   calibrated mine.txtpb: 3352 -> 2710 GB/s, 1.98 -> 1.71 GHz; median error
//     6 %, rank correlation 0.98
std::string KernelReportToText(const KernelReport& report, int max_rows);
absl::StatusOr<std::string> KernelReportToJson(const KernelReport& report);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_KERNEL_REPORT_H_
