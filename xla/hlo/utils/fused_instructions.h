#ifndef XLA_HLO_UTILS_FUSED_INSTRUCTIONS_H_
#define XLA_HLO_UTILS_FUSED_INSTRUCTIONS_H_

#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

// `predicate` holds for the instruction or, if it is a fusion, for one that is
// no fusion in it or in a fusion in it. O(instructions in it).
template <typename Predicate>
bool AnyInside(const HloInstruction& instruction, const Predicate& predicate) {
  if (instruction.opcode() != HloOpcode::kFusion) return predicate(instruction);
  std::vector<const HloInstruction*> fusions = {&instruction};
  while (!fusions.empty()) {
    const HloInstruction* fusion = fusions.back();
    fusions.pop_back();
    for (const HloInstruction* inner : fusion->fused_instructions()) {
      if (inner->opcode() == HloOpcode::kFusion) {
        fusions.push_back(inner);
      } else if (predicate(*inner)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace xla

#endif  // XLA_HLO_UTILS_FUSED_INSTRUCTIONS_H_
