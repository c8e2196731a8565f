#include "xla/hlo/transforms/memory/remat/planner/reschedule.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Whether all that is overwritten after its readers in one order is so in the
// other one, too.
bool ReadsInTime(const HloInstructionSequence& order,
                 const HloInstructionSequence& known) {
  const ComputationProblem problem = MakeComputationProblem(
      known, [](const Shape&) { return int64_t{0}; },
      [](const HloInstruction&) { return 0.0; },
      [](const HloInstruction&) { return int64_t{0}; }, /*placed=*/true);
  absl::flat_hash_map<const HloInstruction*, NodeId> nodes;
  for (size_t n = 0; n < problem.instructions.size(); ++n) {
    nodes[problem.instructions[n]] = static_cast<NodeId>(n);
  }
  std::vector<NodeId> program;
  for (const HloInstruction* inst : order.instructions()) {
    const auto it = nodes.find(inst);
    if (it != nodes.end()) program.push_back(it->second);
  }
  RematTrace trace;
  return TraceProgram(problem.problem, program, &trace).ok();
}

// Where the backend has finished the module, what would read too late in the
// new order keeps its own.
void KeepReadersInTime(const HloModule& module, HloSchedule* schedule) {
  if (!IsPlacedByBackend(module)) return;
  for (HloComputation* computation : module.computations()) {
    if (!module.schedule().is_computation_scheduled(computation) ||
        !schedule->is_computation_scheduled(computation)) {
      continue;
    }
    const HloInstructionSequence& known =
        module.schedule().sequence(computation);
    if (!ReadsInTime(schedule->sequence(computation), known)) {
      schedule->set_sequence(computation, known);
    }
  }
}

}  // namespace

absl::Status RescheduleForMemory(HloModule* module) {
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kBest;
  options.effort = BestMemoryScheduler::kDefaultEffort / 32;
  TF_ASSIGN_OR_RETURN(ScheduleResult best, ComputeSchedule(module, options));
  KeepReadersInTime(*module, &best.schedule);
  TF_ASSIGN_OR_RETURN(RematPeak now,
                      ComputeRematPeak(*module, module->schedule()));
  TF_ASSIGN_OR_RETURN(RematPeak then, ComputeRematPeak(*module, best.schedule));
  if (then.bytes >= now.bytes) {
    return absl::FailedPreconditionError("no order found needs less");
  }
  return module->set_schedule(std::move(best.schedule));
}

}  // namespace xla::remat_plan
