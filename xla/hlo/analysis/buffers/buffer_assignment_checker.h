#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_

#include "absl/status/status.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"

namespace xla {

// Whether no two values that live at the same time overlap in memory, unless
// they are one buffer, or the later is written over an operand that ends there
// and alias rules allow it; and whether every value lies in its allocation.
// When values live is told by the live range of a schedule; without one, two
// may live at the same time where the ordering does not exclude it. Shares no
// code with the assigner; O(values²) per allocation at worst. Internal, naming
// both values, if not.
absl::Status CheckBufferAssignment(const BufferAssignment& assignment,
                                   const AliasInfo* alias_info);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNMENT_CHECKER_H_
