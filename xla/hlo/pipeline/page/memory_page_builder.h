#ifndef XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_BUILDER_H_
#define XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_BUILDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report_builder.h"
#include "xla/hlo/pipeline/page/memory_page.pb.h"

namespace xla {

struct MemoryPageOptions {
  // The device whose rates say how long kernels take: a name or a file.
  std::string device = "h100";
  // Links between devices, as MeshCost::FromText reads them; empty: all devices
  // of the module by one link.
  std::string mesh;
  // Kernels to list; the others are summed.
  int max_kernels = 2000;
};

// Gathers what a page shows from a report and the module that it is of.
// Kernels are instructions that run by themselves, priced by the model of
// GpuPerformanceModel. O(instructions + uses), deterministic.
//
// InvalidArgument for a device or mesh that there is not.
absl::StatusOr<MemoryPage> BuildMemoryPage(
    const HloModule& module, const BuiltMemoryReport& report,
    const HloAliasAnalysis& alias_analysis, const MemoryPageOptions& options);

// What a page says of the module before: its peak and the curve of live bytes,
// as at most 2,000 figures. The plan is left empty.
MemoryPage::Before DescribeBefore(const BuiltMemoryReport& report);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PAGE_MEMORY_PAGE_BUILDER_H_
