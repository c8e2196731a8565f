#ifndef XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
#define XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether everything computed from the instruction, within its computation,
// uses it element by element: each element of a result needs only the same
// element of it.
//
//   p → negate → add(·, q) → root: yes; p → reverse → root: no
//
// O(instructions that it reaches).
bool OnlyElementwiseUses(const HloInstruction* instruction);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
