#include "xla/hlo/transforms/control_flow/while_loop_constant_sinking.h"

#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/control_flow/inlined_calls.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::LoopState;

// Replaces reads of an invariant element whose initial value is a constant by a
// copy of the constant inside the loop, where simplification can use it. The
// element itself stays; other passes remove it once it is unread.
class Sinker {
 public:
  explicit Sinker(const WhileLoopConstantSinkingOptions& options)
      : options_(options) {}

  bool IsSinkable(const HloInstruction* value) const {
    if (value->opcode() == HloOpcode::kBroadcast) {
      return options_.broadcasts &&
             value->operand(0)->opcode() == HloOpcode::kConstant &&
             ShapeUtil::IsScalar(value->operand(0)->shape());
    }
    return value->opcode() == HloOpcode::kConstant &&
           value->shape().IsArray() &&
           ShapeUtil::ElementsIn(value->shape()) <= options_.max_elements;
  }

  // Lets readers of an element of `state`, but for `root`, read `value`, which
  // stands outside. Whether there are any.
  absl::StatusOr<bool> Sink(const HloInstruction* value, int64_t element,
                            HloInstruction* state, const HloInstruction* root) {
    HloInstruction* sunk = nullptr;
    const std::vector<HloInstruction*> reads(state->users().begin(),
                                             state->users().end());
    for (HloInstruction* read : reads) {
      if (read->tuple_index() != element || read->HasControlDependencies()) {
        continue;
      }
      const std::vector<HloInstruction*> users(read->users().begin(),
                                               read->users().end());
      for (HloInstruction* user : users) {
        if (user == root) continue;
        if (sunk == nullptr) sunk = Copy(value, state->parent());
        TF_RETURN_IF_ERROR(read->ReplaceUseWith(user, sunk));
      }
      // The condition of a loop may be an element of its state.
      if (read->IsRoot()) {
        if (sunk == nullptr) sunk = Copy(value, state->parent());
        state->parent()->set_root_instruction(sunk);
      }
    }
    return sunk != nullptr;
  }

 private:
  static HloInstruction* Copy(const HloInstruction* value,
                              HloComputation* computation) {
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* operand : value->operands()) {
      operands.push_back(computation->AddInstruction(operand->Clone("sunk")));
    }
    return computation->AddInstruction(
        value->CloneWithNewOperands(value->shape(), operands, "sunk"));
  }

  const WhileLoopConstantSinkingOptions& options_;
};

}  // namespace

absl::StatusOr<bool> WhileLoopConstantSinking::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  Sinker sinker(options_);
  // Outer loops first: what is sunk into a body may go on into the loops there.
  std::vector<HloComputation*> order =
      module->MakeComputationPostOrder(execution_threads);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if ((*it)->IsFusionComputation()) continue;
    for (HloInstruction* inst : (*it)->MakeInstructionPostOrder()) {
      std::optional<LoopState> loop = LoopState::MatchInside(inst);
      if (!loop.has_value()) continue;
      for (int64_t i = 0; i < loop->size(); ++i) {
        const HloInstruction* value = loop->init()->operand(i);
        if (!sinker.IsSinkable(value) || !loop->IsInvariant(i)) continue;
        TF_ASSIGN_OR_RETURN(
            bool in_body,
            sinker.Sink(value, i, loop->body_state(), loop->body_root()));
        TF_ASSIGN_OR_RETURN(
            bool in_condition,
            sinker.Sink(value, i,
                        inst->while_condition()->parameter_instruction(0),
                        nullptr));
        changed |= in_body || in_condition;
      }
    }
  }
  if (changed) {
    TF_RETURN_IF_ERROR(UpdateScheduleIfAny(module, execution_threads));
  }
  return changed;
}

}  // namespace xla
