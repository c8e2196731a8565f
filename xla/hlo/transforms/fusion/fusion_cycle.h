#ifndef XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_
#define XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Whether `producer` also reaches `consumer` through other instructions, so
// that fusing the two would close a cycle. O(what consumer depends on).
bool HasIndirectPath(const HloInstruction* producer,
                     const HloInstruction* consumer);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_
