#include "xla/hlo/memory/schedulers/bf_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/memory/accounting/hlo_memory_graph.h"

// Kahn's algorithm with a queue: the order in which instructions become ready.

namespace xla {

absl::StatusOr<HloInstructionSequence> BFScheduler::Run(
    HloComputation* computation, const HloAliasAnalysis& alias_analysis) const {
  absl::flat_hash_map<const HloInstruction*, int64_t> waits;
  std::vector<HloInstruction*> order;
  for (HloInstruction* inst : computation->instructions()) {
    absl::flat_hash_set<const HloInstruction*> operands(
        inst->operands().begin(), inst->operands().end());
    waits[inst] = static_cast<int64_t>(operands.size() +
                                       inst->control_predecessors().size());
    if (waits[inst] == 0) order.push_back(inst);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    HloInstruction* done = order[i];
    for (HloInstruction* user : done->users()) {
      if (--waits[user] == 0) order.push_back(user);
    }
    for (HloInstruction* after : done->control_successors()) {
      if (--waits[after] == 0) order.push_back(after);
    }
  }
  if (static_cast<int64_t>(order.size()) != computation->instruction_count()) {
    return CheckNoCycle(*computation);
  }
  return HloInstructionSequence(order);
}

}  // namespace xla
