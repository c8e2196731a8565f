#ifndef XLA_HLO_MEMORY_SCHEDULERS_SCHEDULE_CHECKER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_SCHEDULE_CHECKER_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Replays a schedule and checks that the module can run that way: from the
// entry, every computation that a control-flow instruction runs has a sequence
// (unless its thread has none at all); a sequence holds every instruction of
// its computation exactly once, after its operands and control predecessors.
// Shares no code with the schedulers. FailedPrecondition that names the
// instruction. O(instructions + edges).
absl::Status CheckSchedule(const HloModule& module,
                           const HloSchedule& schedule);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_SCHEDULE_CHECKER_H_
