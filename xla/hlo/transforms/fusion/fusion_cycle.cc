#include "xla/hlo/transforms/fusion/fusion_cycle.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// A backward search from the consumer. Fusing the two would create a cycle
// exactly if the producer is reached by a path other than the direct edge.
// O(instructions + edges) for each call.
bool HasIndirectPath(const HloInstruction* producer,
                     const HloInstruction* consumer) {
  std::vector<const HloInstruction*> worklist = {consumer};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!worklist.empty()) {
    const HloInstruction* hlo = worklist.back();
    worklist.pop_back();
    auto visit = [&](const HloInstruction* predecessor) {
      if (predecessor == producer) return hlo != consumer;
      if (seen.insert(predecessor).second) worklist.push_back(predecessor);
      return false;
    };
    for (const HloInstruction* operand : hlo->operands()) {
      if (visit(operand)) return true;
    }
    for (const HloInstruction* predecessor : hlo->control_predecessors()) {
      if (visit(predecessor)) return true;
    }
  }
  return false;
}

}  // namespace xla
