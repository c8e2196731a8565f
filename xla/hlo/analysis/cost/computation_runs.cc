#include "xla/hlo/analysis/cost/computation_runs.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

ComputationRuns::ComputationRuns(const HloModule& module) {
  std::vector<HloComputation*> order = module.MakeComputationPostOrder();
  runs_[module.entry_computation()] = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const double runs = Of(*it);
    if (runs == 0) continue;
    for (const HloInstruction* instruction : (*it)->instructions()) {
      // A computation run by an asynchronous start is not run again by its
      // done.
      if (instruction->opcode() == HloOpcode::kAsyncUpdate ||
          instruction->opcode() == HloOpcode::kAsyncDone) {
        continue;
      }
      double trips = 1;
      if (instruction->opcode() == HloOpcode::kWhile) {
        const std::optional<int64_t> known =
            ComputeWhileLoopTripCount(instruction);
        if (known.has_value()) trips = static_cast<double>(*known);
        if (!known.has_value()) unknown_loops_.push_back(instruction);
      }
      for (const HloComputation* callee : instruction->called_computations()) {
        // The condition runs once more.
        const bool condition = instruction->opcode() == HloOpcode::kWhile &&
                               callee == instruction->while_condition();
        runs_[callee] += runs * (condition ? trips + 1 : trips);
      }
    }
  }
}

double ComputationRuns::Of(const HloComputation* computation) const {
  const auto it = runs_.find(computation);
  return it == runs_.end() ? 0 : it->second;
}

}  // namespace xla
