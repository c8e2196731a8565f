#ifndef XLA_HLO_VERIFIER_VISITORS_LAYOUT_CHANGE_H_
#define XLA_HLO_VERIFIER_VISITORS_LAYOUT_CHANGE_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether the result may have another order of dimensions in memory than the
// operands of its rank, for HloVerifierOpts::WithInstructionCanChangeLayout.
//
// False for what goes through its operands dimension by dimension, as
// elementwise operations, slices and collectives do: there a compiler lets
// layouts through. True for what has its own order of dimensions (dots,
// transposes, gathers), no operands to follow, or a computation of its own
// (fusions, calls), and for copies, which are made to change it. O(1).
bool InstructionCanChangeLayout(const HloInstruction* instruction);

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_VISITORS_LAYOUT_CHANGE_H_
