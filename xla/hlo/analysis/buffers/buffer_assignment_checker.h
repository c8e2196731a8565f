#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_

#include "absl/status/status.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"

namespace xla {

// Checks that no two values live at the same time overlap in memory, unless
// they are one buffer, or the later overwrites an operand that ends there and
// alias rules allow it; and that every value is inside its allocation. With a
// schedule, the times are those of live ranges; without one, any two values
// that the ordering does not separate may be live at the same time. Shares no
// code with the assigner; O(values²) per allocation at worst. Internal error,
// naming both values, otherwise.
absl::Status CheckBufferAssignment(const BufferAssignment& assignment,
                                   const AliasInfo* alias_info);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_
