#ifndef XLA_HLO_MEMORY_SCHEDULERS_REMAT_CHECKER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_REMAT_CHECKER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Replays the module's schedule and returns the most bytes live at once, the
// result included: the figure that ComputeRematPeak() returns, found another
// way (points-to analysis and intervals) and without sharing code. Pointers
// take 8 bytes, host memory nothing. FailedPrecondition if the module has no
// schedule or cannot run that way.
absl::StatusOr<int64_t> ReplayRematPeak(const HloModule& module);

// FailedPrecondition, with both figures, unless the module can run in the order
// of its schedule and needs exactly `claimed_bytes`.
absl::Status CheckRematPeak(const HloModule& module, int64_t claimed_bytes);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_REMAT_CHECKER_H_
