#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLAN_RENAMING_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLAN_RENAMING_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::remat_plan {

// Whether an instruction only gives values other names, so that it follows
// them: get-tuple-element, bitcast and tuple, without control dependencies.
bool IsRenaming(const HloInstruction& instruction);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLAN_RENAMING_H_
