#ifndef XLA_HLO_ANALYSIS_INSTRUCTION_WALK_H_
#define XLA_HLO_ANALYSIS_INSTRUCTION_WALK_H_

#include <cstddef>

#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Calls fn(HloInstruction*) for the instructions of a computation, in the order
// of storage, with prefetching. fn must not add or remove instructions.
template <typename Fn>
void ForEachInstruction(HloComputation* computation, Fn fn) {
  auto ahead = computation->instructions().begin();
  const auto end = computation->instructions().end();
  for (size_t i = 0; i < kInstructionsAhead && ahead != end; ++i, ++ahead) {
    PrefetchInstruction(*ahead);
  }
  for (HloInstruction* instruction : computation->instructions()) {
    if (ahead != end) {
      PrefetchInstruction(*ahead);
      ++ahead;
    }
    fn(instruction);
  }
}

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_INSTRUCTION_WALK_H_
