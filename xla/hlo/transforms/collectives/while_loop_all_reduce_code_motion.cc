#include "xla/hlo/transforms/collectives/while_loop_all_reduce_code_motion.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/collectives/collective_ops_utils.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// An element of a loop's state to which each iteration adds what an all-reduce
// gives.
struct Sum {
  int64_t index = 0;
  HloInstruction* add = nullptr;
  // Of `add`.
  int64_t reduced_operand = 0;
};

// Whether a value is an all-reduce of sums whose parts may be added up first.
bool IsSumOverDevices(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kAllReduce && inst.operand_count() == 1 &&
         inst.user_count() == 1 && inst.shape().IsArray() &&
         inst.shape().is_static() && inst.shape().element_type() != PRED &&
         !inst.has_sharding() &&
         ShapeUtil::Equal(inst.shape(), inst.operand(0)->shape()) &&
         !inst.HasControlDependencies() &&
         MatchReductionComputation(inst.to_apply()) == ReductionKind::SUM;
}

// Whether `state` is read by its elements alone, and element `index` by `only`
// at most, if that is not null.
bool IsReadByElements(const HloInstruction& state, int64_t index,
                      const HloInstruction* only) {
  return absl::c_all_of(state.users(), [&](const HloInstruction* user) {
    return user->opcode() == HloOpcode::kGetTupleElement &&
           (only == nullptr || user->tuple_index() != index || user == only);
  });
}

std::optional<Sum> SumAt(const HloInstruction& loop, int64_t index) {
  const HloComputation& body = *loop.while_body();
  HloInstruction* add = body.root_instruction()->mutable_operand(index);
  if (add->opcode() != HloOpcode::kAdd || add->user_count() != 1 ||
      absl::c_count(body.root_instruction()->operands(), add) != 1 ||
      add->HasControlDependencies() || add->has_sharding()) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < 2; ++i) {
    const HloInstruction* reduced = add->operand(i);
    const HloInstruction* before = add->operand(1 - i);
    if (IsSumOverDevices(*reduced) &&
        // A narrower type would round the sum of all iterations.
        ShapeUtil::Equal(reduced->shape(), add->shape()) &&
        ShapeUtil::Equal(add->shape(), loop.shape().tuple_shapes(index)) &&
        ShapeUtil::Equal(add->shape(), before->shape()) &&
        before->opcode() == HloOpcode::kGetTupleElement &&
        before->operand(0) == body.parameter_instruction(0) &&
        before->tuple_index() == index && before->user_count() == 1 &&
        !before->HasControlDependencies() &&
        IsReadByElements(*body.parameter_instruction(0), index, before)) {
      return Sum{index, add, i};
    }
  }
  return std::nullopt;
}

// Whether the condition does not look at the element, and what follows the loop
// takes elements, whenever these are there.
bool MayChangeValue(const HloInstruction& loop, int64_t index) {
  const HloInstruction& state =
      *loop.while_condition()->parameter_instruction(0);
  return !loop.IsRoot() && IsReadByElements(loop, index, nullptr) &&
         absl::c_none_of(loop.users(),
                         [&](const HloInstruction* user) {
                           return user->tuple_index() == index &&
                                  user->HasControlDependencies();
                         }) &&
         IsReadByElements(state, index, &loop);
}

absl::Status Move(HloInstruction* loop, const Sum& sum) {
  HloComputation* computation = loop->parent();
  HloInstruction* reduced = sum.add->mutable_operand(sum.reduced_operand);
  const Shape& shape = reduced->shape();

  // The loop starts at zero.
  HloInstruction* initial = loop->mutable_operand(0);
  std::vector<HloInstruction*> elements(initial->operands().begin(),
                                        initial->operands().end());
  HloInstruction* start = elements[sum.index];
  HloInstruction* zeros = computation->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::Zero(shape.element_type())));
  if (!ShapeUtil::IsScalar(shape)) {
    zeros = computation->AddInstruction(
        HloInstruction::CreateBroadcast(start->shape(), zeros, {}));
  }
  elements[sum.index] = zeros;
  HloInstruction* state =
      computation->AddInstruction(HloInstruction::CreateTuple(elements));
  TF_RETURN_IF_ERROR(loop->ReplaceOperandWith(0, state));
  if (initial->IsDead() && computation->IsSafelyRemovable(initial)) {
    TF_RETURN_IF_ERROR(computation->RemoveInstruction(initial));
  }

  // What it leaves is added up over the devices.
  std::vector<HloInstruction*> readers;
  for (HloInstruction* user : loop->users()) {
    if (user->tuple_index() == sum.index) readers.push_back(user);
  }
  HloInstruction* part = computation->AddInstruction(
      HloInstruction::CreateGetTupleElement(shape, loop, sum.index));
  HloInstruction* total =
      computation->AddInstruction(reduced->CloneWithNewOperands(shape, {part}));
  HloInstruction* result =
      computation->AddInstruction(sum.add->CloneWithNewOperands(
          sum.add->shape(), sum.reduced_operand == 0
                                ? std::vector<HloInstruction*>{total, start}
                                : std::vector<HloInstruction*>{start, total}));
  for (HloInstruction* reader : readers) {
    TF_RETURN_IF_ERROR(computation->ReplaceInstruction(reader, result));
  }

  TF_RETURN_IF_ERROR(sum.add->ReplaceOperandWith(sum.reduced_operand,
                                                 reduced->mutable_operand(0)));
  return loop->while_body()->RemoveInstruction(reduced);
}

absl::StatusOr<bool> RunOnLoop(HloInstruction* loop) {
  HloComputation* body = loop->while_body();
  if (body->root_instruction()->opcode() != HloOpcode::kTuple ||
      loop->operand(0)->opcode() != HloOpcode::kTuple ||
      loop->HasControlDependencies() || loop->has_sharding() ||
      body->caller_instructions().size() != 1 ||
      loop->while_condition()->caller_instructions().size() != 1) {
    return false;
  }
  bool changed = false;
  for (int64_t i = 0; i < loop->operand(0)->operand_count(); ++i) {
    const std::optional<Sum> sum = SumAt(*loop, i);
    if (!sum.has_value() || !MayChangeValue(*loop, i)) continue;
    TF_RETURN_IF_ERROR(Move(loop, *sum));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> WhileLoopAllReduceCodeMotion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Inner loops first: what leaves one may leave the loop around it, too.
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsFusionComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kWhile) continue;
      TF_ASSIGN_OR_RETURN(bool loop_changed, RunOnLoop(inst));
      changed |= loop_changed;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
