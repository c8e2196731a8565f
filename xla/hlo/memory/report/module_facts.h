#ifndef XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_
#define XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_

#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report.pb.h"

namespace xla {

// Facts about the module as it was given, before anything ran: a figure of a
// module that no compiler has seen, or of all devices together, is another one
// than that of what runs.
//
//   HloModule step, is_scheduled=true, num_partitions=8 … fusion …
//     → "optimized, scheduled, the module of one of 8 devices"
//   HloModule step → "before optimization, without a schedule"
//
// Fills all of MemoryReport.Input but `passes`. O(instructions).
MemoryReport::Input DescribeModule(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_REPORT_MODULE_FACTS_H_
