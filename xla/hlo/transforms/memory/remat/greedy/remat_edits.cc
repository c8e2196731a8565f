#include "xla/hlo/transforms/memory/remat/greedy/remat_edits.h"

#include <utility>

#include "absl/log/check.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/status_macros.h"

namespace xla {

HloInstruction* RematEdits::Add(HloComputation* computation,
                                std::unique_ptr<HloInstruction> instruction,
                                absl::string_view name) {
  HloInstruction* added =
      computation->AddInstruction(std::move(instruction), name);
  edits_.push_back({added});
  return added;
}

absl::StatusOr<HloInstruction*> RematEdits::AddClone(HloInstruction* original) {
  HloModule* module = original->GetModule();
  HloCloneContext context(module);
  HloInstruction* clone =
      Add(original->parent(), original->Clone(/*suffix=*/"remat", &context));
  for (const auto& [from, to] : context.cloned_computations()) {
    new_computations_.push_back(to);
  }
  if (module->has_schedule()) ScheduleClones(context, module->schedule());
  if (auto* channel = DynCast<HloChannelInstruction>(clone);
      channel != nullptr && channel->channel_id().has_value()) {
    channel->set_channel_id(NextChannelId(*module));
  }
  TF_RETURN_IF_ERROR(clone->CopyAllControlDepsFrom(original));
  return clone;
}

void RematEdits::ScheduleClones(const HloCloneContext& context,
                                const HloSchedule& schedule) {
  for (const auto& [from, to] : context.cloned_computations()) {
    if (to->IsFusionComputation() || new_sequences_.contains(to)) continue;
    const HloInstructionSequence* original = nullptr;
    if (auto it = new_sequences_.find(from); it != new_sequences_.end()) {
      original = &it->second;
    } else if (schedule.is_computation_scheduled(from)) {
      original = &schedule.sequence(from);
    } else {
      continue;
    }
    HloInstructionSequence sequence;
    for (HloInstruction* inst : original->instructions()) {
      if (HloInstruction* clone = context.FindInstruction(inst)) {
        sequence.push_back(clone);
      }
    }
    new_sequences_.emplace(to, std::move(sequence));
  }
}

absl::Status RematEdits::ReplaceOperand(HloInstruction* user, int64_t operand,
                                        HloInstruction* now) {
  HloInstruction* before = user->mutable_operand(operand);
  TF_RETURN_IF_ERROR(user->ReplaceOperandWithDifferentShape(operand, now));
  edits_.push_back({user, before, operand});
  return absl::OkStatus();
}

void RematEdits::Commit(HloModule* module) {
  HloSchedule& schedule = module->schedule();
  for (auto& [computation, sequence] : new_sequences_) {
    schedule.set_sequence(computation, std::move(sequence));
  }
  std::vector<HloComputation*> callees;
  for (HloInstruction* inst : dropped_) {
    callees.assign(inst->called_computations().begin(),
                   inst->called_computations().end());
    CHECK_OK(inst->parent()->RemoveInstruction(inst));
    while (!callees.empty()) {
      HloComputation* callee = callees.back();
      callees.pop_back();
      if (!callee->IsDeadComputation()) continue;
      for (const auto& [inner, count] : callee->callee_computations()) {
        callees.push_back(inner);
      }
      CHECK_OK(module->RemoveEmbeddedComputation(callee));
    }
  }
  *this = RematEdits();
}

// Backwards, as an operand may have been replaced more than once, and a clone
// is without users only after later edits have been undone. Its computations go
// last: none may be removed while an instruction calls it.
absl::Status RematEdits::Undo() {
  for (auto it = edits_.rbegin(); it != edits_.rend(); ++it) {
    HloInstruction* inst = it->instruction;
    if (it->operand != nullptr) {
      TF_RETURN_IF_ERROR(inst->ReplaceOperandWithDifferentShape(
          it->operand_number, it->operand));
      continue;
    }
    TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
    TF_RETURN_IF_ERROR(inst->parent()->RemoveInstruction(inst));
  }
  for (HloComputation* computation : new_computations_) {
    TF_RETURN_IF_ERROR(
        computation->parent()->RemoveEmbeddedComputation(computation));
  }
  *this = RematEdits();
  return absl::OkStatus();
}

int64_t RematEdits::NextChannelId(const HloModule& module) {
  if (!next_channel_id_.has_value()) next_channel_id_ = module.NextChannelId();
  return (*next_channel_id_)++;
}

}  // namespace xla
