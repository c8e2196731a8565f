#ifndef XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_
#define XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether another run of the instruction gives the same values, and nothing but
// readers can tell that it ran: no side effects, no control dependencies, no
// meeting of devices, no unknown code, here or in what it calls.
bool IsRecomputable(const HloInstruction& instruction);

// Whether an instruction only gives values other names, so that it follows
// them: get-tuple-element, bitcast and tuple, without control dependencies.
bool IsRenaming(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_ACCOUNTING_RECOMPUTABLE_H_
