#include "xla/hlo/transforms/loops/loop_unfusing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
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

}  // namespace

absl::StatusOr<std::vector<std::string>> UnfuseStackAccess(int64_t max_fusions,
                                                           HloModule* module) {
  std::vector<std::string> changed;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      std::optional<LoopState> loop = LoopState::Match(inst);
      if (!loop.has_value()) continue;
      TF_RETURN_IF_ERROR(Unfuser(*loop).Run(max_fusions, &changed));
    }
  }
  if (changed.empty()) return changed;
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return changed;
}

}  // namespace xla::remat_plan
