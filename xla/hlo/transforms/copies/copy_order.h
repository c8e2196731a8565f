#ifndef XLA_HLO_TRANSFORMS_COPIES_COPY_ORDER_H_
#define XLA_HLO_TRANSFORMS_COPIES_COPY_ORDER_H_

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/copies/copy_sites.h"

namespace xla {

// An order of all computations of control flow in which an instruction that
// overwrites a value comes after the value's other readers, wherever operands
// and control dependencies allow it: then no copy is needed.
//
//   u = dynamic-update-slice(x, ...); r = negate(x)      →  x, r, u
//
// A topological sort that respects these preferences until nothing else is
// ready; otherwise the post order is kept. O(instructions log instructions +
// preferences).
HloSchedule ChooseOrder(const HloModule& module,
                        const HloDataflowAnalysis& dataflow,
                        const CopySites& sites);

// Adds the control dependencies that keep values of one buffer that do not
// interfere in `order` from interfering in any other order: each reader of a
// value runs before the next value of its buffer is written. None where
// operands imply it already. Returns whether any was added.
absl::StatusOr<bool> KeepOrderOfBuffers(HloModule* module,
                                        const HloSchedule& order,
                                        const AliasInfo& alias_info);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_COPY_ORDER_H_
