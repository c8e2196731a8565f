#ifndef XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
#define XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether what comes from the instruction is only ever used element by element
// in its computation: each element of a result needs that element of it alone.
//
//   p → negate → add(·, q) → root: yes; p → reverse → root: no
//
// O(instructions that it reaches).
bool OnlyElementwiseUses(const HloInstruction* instruction);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
