#ifndef XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_
#define XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether another run of the instruction gives the same values and is not
// observable otherwise: no side effects, control dependencies, communication or
// unknown code, here or in the computations it calls.
bool IsRecomputable(const HloInstruction& instruction);
// The same for a run elsewhere, which control dependencies say nothing about.
bool IsRecomputableElsewhere(const HloInstruction& instruction);

// Whether an instruction only renames values and thus costs nothing to repeat:
// get-tuple-element, bitcast and tuple, without control dependencies.
bool IsRenaming(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_
