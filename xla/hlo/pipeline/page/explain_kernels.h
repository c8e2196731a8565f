#ifndef XLA_HLO_PIPELINE_PAGE_EXPLAIN_KERNELS_H_
#define XLA_HLO_PIPELINE_PAGE_EXPLAIN_KERNELS_H_

#include <string>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report_builder.h"
#include "xla/hlo/pipeline/page/kernel_report.h"

namespace xla {

struct ExplainKernelsOptions {
  // The device that times are modeled on, a name or a file, and its mesh.
  std::string device = "h100";
  std::string mesh;
  // What a program measured (kernel_timings.h), and where the device goes that
  // the model would have needed to say so; empty: neither.
  std::string timings;
  std::string calibrate;
};

// The work of hlo-explain --kernels: all kernels of a module and their times,
// beside those that were measured.
//
// Errors: those of reading, of ParseKernelTimings, CompareWithMeasured and
// CalibrateDevice, and of devices and meshes that there are not.
absl::StatusOr<KernelReport> ExplainKernels(
    const ExplainKernelsOptions& options, const HloModule& module,
    const BuiltMemoryReport& built, const HloAliasAnalysis& alias_analysis);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_EXPLAIN_KERNELS_H_
