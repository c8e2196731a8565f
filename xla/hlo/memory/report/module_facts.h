#ifndef XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_
#define XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_

#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report.pb.h"

namespace xla {

// Facts about the module as given, before any pass: figures of a module that no
// compiler has optimized, or of all devices together, are not those of the
// program that runs.
//
//   HloModule step, is_scheduled=true, num_partitions=8 … fusion …
//     → "optimized, scheduled, the module of one of 8 devices"
//   HloModule step, is_scheduled=true … outer_dimension_partitions …
//     → "optimized by XLA:CPU, scheduled"
//   HloModule step → "before optimization, without a schedule"
//
// Fills all of MemoryReport.Input but `passes`. O(instructions).
MemoryReport::Input DescribeModule(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_
