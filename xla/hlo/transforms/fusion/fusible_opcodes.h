#ifndef XLA_HLO_TRANSFORMS_FUSION_FUSIBLE_OPCODES_H_
#define XLA_HLO_TRANSFORMS_FUSION_FUSIBLE_OPCODES_H_

#include "xla/hlo/ir/hlo_instruction.h"

// Opcodes that a fusion for any backend can hold: computations on arrays.

namespace xla {

// Whether it may be computed inside of a fusion where its result is read: it
// computes an array from arrays, has no side effect and is not a communication,
// a custom call or a custom fusion. Constants only with one element.
bool MayBeFused(const HloInstruction& instruction);

// The same for the root of a fusion, which may return several arrays.
bool MayBeFusionRoot(const HloInstruction& instruction);

// Whether it takes longer to compute than to read: more than plain arithmetic.
bool IsExpensiveToRepeat(const HloInstruction& instruction);

// Whether its work grows faster than its result: never worth doing twice.
bool IsHeavy(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_FUSIBLE_OPCODES_H_
