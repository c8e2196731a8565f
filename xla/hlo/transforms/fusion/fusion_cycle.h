#ifndef XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_
#define XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// `producer` reaches `consumer` through other instructions too, so that one
// that is both would reach itself. O(what consumer depends on).
bool HasIndirectPath(const HloInstruction* producer,
                     const HloInstruction* consumer);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_FUSION_CYCLE_H_
