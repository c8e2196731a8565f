#include "xla/hlo/transforms/loops/loop_unfusing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Takes fusions of one loop's body apart.
//
// Fusion hides stack accesses from the analysis of residuals. Fusions that
// write a stack are dissolved; of fusions that read slices of an invariant
// element, the slices are moved out in front.
class Unfuser {
 public:
  explicit Unfuser(const LoopState& loop) : loop_(loop) {}

  // Adds the names of the fusions that it changes, up to `max_fusions`.
  absl::Status Run(int64_t max_fusions, std::vector<std::string>* changed) {
    const size_t before = changed->size();
    if (AccessesStacks()) {
      TF_RETURN_IF_ERROR(TakeCountersApart(max_fusions, changed));
      TF_RETURN_IF_ERROR(WaitForStackWrites(
          max_fusions - static_cast<int64_t>(changed->size())));
    }
    for (HloInstruction* fusion : Fusions()) {
      if (static_cast<int64_t>(changed->size()) == max_fusions) break;
      std::string name(fusion->name());
      if (WritesStack(fusion)) {
        TF_RETURN_IF_ERROR(fusion->Defuse());
        changed->push_back(std::move(name));
        continue;
      }
      TF_ASSIGN_OR_RETURN(bool unfused, UnfuseReads(fusion));
      if (unfused) changed->push_back(std::move(name));
    }
    if (changed->size() == before) return absl::OkStatus();
    return ReadElementsDirectly();
  }

 private:
  std::vector<HloInstruction*> Fusions() const {
    std::vector<HloInstruction*> fusions;
    for (HloInstruction* inst : loop_.body()->MakeInstructionPostOrder()) {
      if (inst->opcode() == HloOpcode::kFusion &&
          !inst->HasControlDependencies()) {
        fusions.push_back(inst);
      }
    }
    return fusions;
  }

  // Whether slices of parameters are read or written in fusions of the body.
  bool AccessesStacks() const {
    return absl::c_any_of(loop_.body()->instructions(), [](const auto* inst) {
      const HloInstruction* fusion =
          inst->opcode() == HloOpcode::kFusion ? inst : FusionOf(inst);
      return fusion != nullptr &&
             absl::c_any_of(
                 fusion->fused_instructions(), [](const HloInstruction* inner) {
                   return HloPredicateIsOp<HloOpcode::kDynamicSlice,
                                           HloOpcode::kDynamicUpdateSlice>(
                              inner) &&
                          inner->operand(0)->opcode() == HloOpcode::kParameter;
                 });
    });
  }

  // Fusions that count trips. What they wait for, as they count in place, comes
  // before them in the schedule.
  absl::Status TakeCountersApart(int64_t max_fusions,
                                 std::vector<std::string>* changed) {
    for (int64_t k = 0; k < loop_.size(); ++k) {
      HloInstruction* next = loop_.body_root()->mutable_operand(k);
      if (static_cast<int64_t>(changed->size()) == max_fusions) break;
      if (!next->IsLoopFusion() || next->operand_count() != 1 ||
          ElementOf(next->operand(0)) != k ||
          next->fused_expression_root()->opcode() != HloOpcode::kAdd ||
          !ShapeUtil::IsEffectiveScalar(next->shape()) ||
          !next->shape().AreAllLeavesIntegers()) {
        continue;
      }
      changed->push_back(std::string(next->name()));
      TF_RETURN_IF_ERROR(next->DropAllControlDeps());
      TF_RETURN_IF_ERROR(next->Defuse());
    }
    return absl::OkStatus();
  }

  // The fusion that an asynchronous chain consists of; null: none.
  static HloInstruction* FusionOf(const HloInstruction* done) {
    if (done->opcode() != HloOpcode::kAsyncDone ||
        done->operand(0)->opcode() != HloOpcode::kAsyncStart ||
        done->operand(0)->user_count() != 1) {
      return nullptr;
    }
    const HloComputation* called = done->async_wrapped_computation();
    HloInstruction* fusion = called->root_instruction();
    const bool is_all =
        fusion->opcode() == HloOpcode::kFusion &&
        called->instruction_count() == called->num_parameters() + 1 &&
        done->operand(0)->operand_count() == called->num_parameters();
    return is_all ? fusion : nullptr;
  }

  // Fusions that write a stack beside other work do it in their turn instead.
  // What waited for them comes later in the schedule.
  absl::Status WaitForStackWrites(int64_t max_fusions) {
    const HloInstruction* results = loop_.body_root();
    for (int64_t k = 0; k < results->operand_count() && max_fusions > 0; ++k) {
      HloInstruction* done = loop_.body_root()->mutable_operand(k);
      HloInstruction* fusion = FusionOf(done);
      if (fusion == nullptr) continue;
      HloInstruction* start = done->mutable_operand(0);
      const HloInstruction* update = fusion->fused_expression_root();
      if (update->opcode() != HloOpcode::kDynamicUpdateSlice ||
          update->operand(0)->opcode() != HloOpcode::kParameter) {
        continue;
      }
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : fusion->operands()) {
        operands.push_back(start->mutable_operand(operand->parameter_number()));
      }
      if (ElementOf(operands[update->operand(0)->parameter_number()]) != k) {
        continue;
      }
      HloComputation* called = loop_.body()->parent()->AddEmbeddedComputation(
          fusion->fused_instructions_computation()->Clone("waits"));
      HloInstruction* write =
          loop_.body()->AddInstruction(HloInstruction::CreateFusion(
              fusion->shape(), fusion->fusion_kind(), operands, called));
      fusion->SetupDerivedInstruction(write);
      write->SetAndSanitizeName(fusion->name());
      for (HloInstruction* link : {done, start}) {
        TF_RETURN_IF_ERROR(link->DropAllControlDeps());
      }
      TF_RETURN_IF_ERROR(done->ReplaceAllUsesWith(write));
      TF_RETURN_IF_ERROR(loop_.body()->RemoveInstruction(done));
      TF_RETURN_IF_ERROR(loop_.body()->RemoveInstruction(start));
      --max_fusions;
    }
    return absl::OkStatus();
  }

  std::optional<int64_t> ElementOf(const HloInstruction* inst) const {
    return LoopState::ElementOf(inst, loop_.body_state());
  }

  // Whether output `output` of a fusion, one of the results of the body, is its
  // element of the state with a slice written into it.
  bool WritesElement(const HloInstruction* fusion, const HloInstruction* output,
                     int64_t element) const {
    return output->opcode() == HloOpcode::kDynamicUpdateSlice &&
           output->operand(0)->opcode() == HloOpcode::kParameter &&
           ElementOf(fusion->operand(output->operand(0)->parameter_number())) ==
               element;
  }

  bool WritesStack(const HloInstruction* fusion) const {
    const HloInstruction* inner = fusion->fused_expression_root();
    const HloInstruction* results = loop_.body_root();
    for (int64_t k = 0; k < results->operand_count(); ++k) {
      const HloInstruction* result = results->operand(k);
      if (result == fusion) {
        if (WritesElement(fusion, inner, k)) return true;
      } else if (result->opcode() == HloOpcode::kGetTupleElement &&
                 result->operand(0) == fusion &&
                 inner->opcode() == HloOpcode::kTuple &&
                 WritesElement(fusion, inner->operand(result->tuple_index()),
                               k)) {
        return true;
      }
    }
    return false;
  }

  // A slice of the parameter that can be taken outside; null: none.
  static HloInstruction* FindSlice(const HloInstruction* parameter) {
    const auto& users = parameter->users();
    const bool only_slices =
        std::all_of(users.begin(), users.end(), [&](const auto* user) {
          return user->opcode() == HloOpcode::kDynamicSlice &&
                 user->operand(0) == parameter && !user->IsRoot();
        });
    return only_slices && !users.empty() ? users.front() : nullptr;
  }

  // The instruction, after everything that its operands are computed from.
  static absl::Status UnfuseWithOperands(HloInstruction* fusion,
                                         HloInstruction* instruction) {
    for (HloInstruction* inner :
         instruction->parent()->MakeInstructionPostOrderFrom(*instruction)) {
      // Constants, and broadcasts of them, are copied with their users.
      if (inner->opcode() == HloOpcode::kParameter ||
          inner->opcode() == HloOpcode::kConstant ||
          (inner->opcode() == HloOpcode::kBroadcast &&
           inner->operand(0)->opcode() == HloOpcode::kConstant)) {
        continue;
      }
      TF_RETURN_IF_ERROR(fusion->UnfuseInstruction(inner).status());
    }
    return absl::OkStatus();
  }

  // Slices leave a fusion one by one, each with what computes its indices. When
  // the last one of a parameter has gone, the fusion no longer reads the whole
  // element, and the parameter goes, too.
  absl::StatusOr<bool> UnfuseReads(HloInstruction* fusion) {
    bool changed = false;
    for (int64_t i = 0; i < fusion->operand_count(); ++i) {
      std::optional<int64_t> element = ElementOf(fusion->operand(i));
      if (!element.has_value() || !loop_.IsInvariant(*element)) continue;
      while (HloInstruction* slice = FindSlice(fusion->fused_parameter(i))) {
        TF_RETURN_IF_ERROR(UnfuseWithOperands(fusion, slice));
        changed = true;
      }
    }
    if (!changed) return false;
    HloComputation* fused = fusion->fused_instructions_computation();
    for (int64_t i = fused->num_parameters() - 1; i >= 0; --i) {
      if (!fused->parameter_instruction(i)->users().empty() ||
          fused->parameter_instruction(i)->IsRoot()) {
        continue;
      }
      TF_RETURN_IF_ERROR(fused->RemoveUnusedParameterAndOperands(i));
    }
    return true;
  }

  // tuple(get-tuple-element(tuple(a, b), 0), …) → tuple(a, …)
  absl::Status ReadElementsDirectly() {
    HloInstruction* results = loop_.body_root();
    for (int64_t k = 0; k < results->operand_count(); ++k) {
      const HloInstruction* read = results->operand(k);
      if (read->opcode() != HloOpcode::kGetTupleElement ||
          read->operand(0)->opcode() != HloOpcode::kTuple) {
        continue;
      }
      TF_RETURN_IF_ERROR(results->ReplaceOperandWith(
          k, const_cast<HloInstruction*>(
                 read->operand(0)->operand(read->tuple_index()))));
    }
    return absl::OkStatus();
  }

  LoopState loop_;
};

// Counters are increased in place: what reads them comes first, except where
// something waits for the next count.
void CountLast(HloComputation* body, HloSchedule* schedule) {
  const HloInstruction* state = body->parameter_instruction(0);
  const HloInstruction* results = body->root_instruction();
  const auto counts = [&](const HloInstruction* inst) {
    return inst->opcode() == HloOpcode::kAdd && inst->user_count() == 1 &&
           inst->users().front() == results &&
           inst->control_successors().empty() &&
           ShapeUtil::IsEffectiveScalar(inst->shape()) &&
           absl::c_any_of(inst->operands(), [&](const HloInstruction* operand) {
             const std::optional<int64_t> element =
                 LoopState::ElementOf(operand, state);
             return element.has_value() && results->operand(*element) == inst;
           });
  };
  std::vector<HloInstruction*> sequence =
      schedule->sequence(body).instructions();
  std::stable_partition(
      sequence.begin(), std::find(sequence.begin(), sequence.end(), results),
      [&](const HloInstruction* inst) { return !counts(inst); });
  schedule->set_sequence(body, sequence);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> UnfuseStackAccess(int64_t max_fusions,
                                                           HloModule* module) {
  std::vector<std::string> changed;
  std::vector<HloComputation*> bodies;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      std::optional<LoopState> loop = LoopState::Match(inst);
      if (!loop.has_value()) continue;
      const size_t before = changed.size();
      TF_RETURN_IF_ERROR(Unfuser(*loop).Run(max_fusions, &changed));
      if (changed.size() > before) bodies.push_back(loop->body());
    }
  }
  if (changed.empty()) return changed;
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  for (HloComputation* body : bodies) CountLast(body, &module->schedule());
  return changed;
}

}  // namespace xla::remat_plan
