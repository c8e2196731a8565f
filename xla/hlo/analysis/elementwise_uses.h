#ifndef XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
#define XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_

#include <cstdint>

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

// The same in the fusion of parameter `number`, whether its outputs may be
// where that operand is. Input fusions are made around reductions, which have
// read an element when its thread writes what else is made of it; so there
// bitcasts and reductions are let through, but nothing that spreads what they
// give; and an output has to follow from the operand without a reduction, for
// its threads to read what they write over.
//
//   p → add(·, q) → root {1}, → reshape → reduce → root {0}: yes
//   p → reduce → broadcast → add(·, p) → root: no
//   p → reduce → root {0}; q → root {1}: no
bool OnlyElementwiseUsesInFusion(const HloInstruction& fusion, int64_t number);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ELEMENTWISE_USES_H_
