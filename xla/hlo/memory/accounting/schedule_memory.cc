#include "xla/hlo/memory/accounting/schedule_memory.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/memory/graph/memory_graph.h"
#include "xla/status_macros.h"

namespace xla {

// One pass over callers before callees finds what runs; callees come first in
// the result, since a caller's peak counts theirs.
std::vector<HloComputation*> ComputationsWithMemory(const HloModule& module) {
  absl::flat_hash_set<const HloComputation*> runs = {
      module.entry_computation()};
  std::vector<HloComputation*> callees_first =
      module.MakeComputationPostOrder();
  for (auto it = callees_first.rbegin(); it != callees_first.rend(); ++it) {
    if (!runs.contains(*it)) continue;
    for (const HloInstruction* inst : (*it)->instructions()) {
      for (const HloComputation* callee : ComputationsRunBy(*inst)) {
        runs.insert(callee);
      }
    }
  }
  std::vector<HloComputation*> result;
  for (HloComputation* computation : callees_first) {
    if (runs.contains(computation) &&
        computation != module.entry_computation()) {
      result.push_back(computation);
    }
  }
  result.push_back(module.entry_computation());
  return result;
}

absl::StatusOr<int64_t> ForEachComputationMemory(
    const HloModule& module, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_function,
    absl::FunctionRef<absl::StatusOr<int64_t>(HloComputation*,
                                              const HloMemoryGraph&)>
        choose) {
  ComputationPeaks peaks;
  int64_t peak = 0;
  for (HloComputation* computation : ComputationsWithMemory(module)) {
    TF_ASSIGN_OR_RETURN(HloMemoryGraph memory,
                        BuildMemoryGraph(*computation, alias_analysis,
                                         alias_info, size_function, peaks));
    TF_ASSIGN_OR_RETURN(peak, choose(computation, memory));
    peaks[computation] = peak;
  }
  return peak;
}

absl::StatusOr<int64_t> PeakOfSchedule(
    const HloSchedule& schedule, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info,
    const BufferValue::SizeFunction& size_function) {
  const auto threads = schedule.num_sequences_by_execution_thread();
  return ForEachComputationMemory(
      *schedule.module(), alias_analysis, alias_info, size_function,
      [&](HloComputation* computation,
          const HloMemoryGraph& memory) -> absl::StatusOr<int64_t> {
        if (!schedule.is_computation_scheduled(computation)) {
          // Threads may be scheduled one by one; the others' memory is theirs.
          if (!threads.contains(computation->execution_thread())) return 0;
          return absl::InvalidArgumentError(absl::StrCat(
              "computation ", computation->name(), " is not scheduled"));
        }
        TF_ASSIGN_OR_RETURN(
            std::vector<MemoryGraph::Node> order,
            memory.ToNodes(schedule.sequence(computation).instructions()));
        return ReplayPeak(memory.graph, order).bytes;
      });
}

}  // namespace xla
