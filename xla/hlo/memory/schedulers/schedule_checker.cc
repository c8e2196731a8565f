#include "xla/hlo/memory/schedulers/schedule_checker.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

// Checks schedules the hard way, independently of the code that builds them:
// every sequence is a topological order of its computation with respect to
// operands and control predecessors, and covers each instruction exactly once.

namespace xla {
namespace {

absl::Status Error(const HloComputation& computation, const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("schedule of ", computation.name(), ": ", what));
}

absl::Status CheckSequence(const HloComputation& computation,
                           const HloInstructionSequence& sequence) {
  absl::flat_hash_set<const HloInstruction*> done;
  for (const HloInstruction* inst : sequence.instructions()) {
    if (inst->parent() != &computation) {
      return Error(computation, "holds an instruction of another computation");
    }
    for (const HloInstruction* operand : inst->operands()) {
      if (!done.contains(operand)) {
        return Error(computation,
                     absl::StrCat(inst->name(), " runs before its operand ",
                                  operand->name()));
      }
    }
    for (const HloInstruction* before : inst->control_predecessors()) {
      if (!done.contains(before)) {
        return Error(
            computation,
            absl::StrCat(inst->name(), " runs before its control predecessor ",
                         before->name()));
      }
    }
    if (!done.insert(inst).second) {
      return Error(computation, absl::StrCat(inst->name(), " runs twice"));
    }
  }
  for (const HloInstruction* inst : computation.instructions()) {
    if (!done.contains(inst)) {
      return Error(computation, absl::StrCat(inst->name(), " never runs"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSchedule(const HloModule& module,
                           const HloSchedule& schedule) {
  auto threads = schedule.num_sequences_by_execution_thread();
  std::vector<const HloComputation*> to_run = {module.entry_computation()};
  absl::flat_hash_set<const HloComputation*> seen = {to_run[0]};
  while (!to_run.empty()) {
    const HloComputation* computation = to_run.back();
    to_run.pop_back();
    if (schedule.is_computation_scheduled(computation)) {
      absl::Status status =
          CheckSequence(*computation, schedule.sequence(computation));
      if (!status.ok()) return status;
    } else if (threads.contains(std::string(computation->execution_thread())) ||
               threads.empty()) {
      return Error(*computation, "there is none");
    }
    for (const HloInstruction* inst : computation->instructions()) {
      if (!inst->has_called_computations() ||
          GetInstructionCallContext(inst->opcode()) !=
              CallContext::kControlFlow) {
        continue;
      }
      for (const HloComputation* callee : inst->called_computations()) {
        if (seen.insert(callee).second) to_run.push_back(callee);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xla
