#include "xla/hlo/transforms/collectives/async_collective_creator.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// What is under way between a start and its done: the operands and the results.
Shape StateOf(const HloInstruction& collective) {
  std::vector<Shape> operands;
  for (const HloInstruction* operand : collective.operands()) {
    operands.push_back(operand->shape());
  }
  return ShapeUtil::MakeTupleShape(
      {operands.size() == 1 ? operands[0] : ShapeUtil::MakeTupleShape(operands),
       collective.shape()});
}

// The start and the opcode of the done of a collective that has opcodes for
// them; null for others.
std::pair<std::unique_ptr<HloInstruction>, HloOpcode> MakeStart(
    const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather: {
      const auto& gather = *Cast<HloAllGatherInstruction>(&inst);
      return {HloInstruction::CreateAllGatherStart(
                  StateOf(inst), inst.operands(), gather.all_gather_dimension(),
                  gather.device_list(), gather.constrain_layout(),
                  gather.channel_id(), gather.use_global_device_ids()),
              HloOpcode::kAllGatherDone};
    }
    case HloOpcode::kAllReduce: {
      const auto& reduce = *Cast<HloAllReduceInstruction>(&inst);
      return {HloInstruction::CreateAllReduceStart(
                  inst.shape(), inst.operands(), inst.to_apply(),
                  reduce.device_list(), reduce.constrain_layout(),
                  reduce.channel_id(), reduce.use_global_device_ids()),
              HloOpcode::kAllReduceDone};
    }
    case HloOpcode::kCollectivePermute: {
      const auto& permute = *Cast<HloCollectivePermuteInstruction>(&inst);
      return {HloInstruction::CreateCollectivePermuteStart(
                  StateOf(inst), inst.operands(), inst.source_target_pairs(),
                  permute.channel_id()),
              HloOpcode::kCollectivePermuteDone};
    }
    default:  // Wrapped.
      return {nullptr, inst.opcode()};
  }
}

bool IsToBeSplit(const HloInstruction& inst, int64_t min_bytes) {
  switch (inst.opcode()) {
    case HloOpcode::kCollectivePermute:
      if (Cast<HloCollectivePermuteInstruction>(&inst)->inplace()) return false;
      break;
    case HloOpcode::kAllGather:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kReduceScatter:
      break;
    default:  // No collectives, or under way already.
      return false;
  }
  int64_t bytes = 0;
  ShapeUtil::ForEachLeafShape(
      inst.shape(), [&](const Shape& leaf, const ShapeIndex&) {
        bytes += ShapeUtil::ByteSizeOf(leaf, /*pointer_size=*/8);
      });
  return bytes >= min_bytes;
}

absl::Status Split(HloInstruction* inst) {
  HloComputation* computation = inst->parent();
  auto [made, done_opcode] = MakeStart(*inst);
  if (made == nullptr) {
    return computation
        ->CreateAsyncInstructions(inst, /*context_shapes=*/{},
                                  computation->execution_thread())
        .status();
  }
  HloInstruction* start = computation->AddInstruction(std::move(made));
  HloInstruction* done = computation->AddInstruction(
      HloInstruction::CreateUnary(inst->shape(), done_opcode, start));
  inst->SetupDerivedInstruction(start);
  start->set_frontend_attributes(inst->frontend_attributes());
  start->CopyBackendConfigFrom(inst);
  // Attributes without a field, such as a collective's mode=.
  for (const auto& [name, value] : inst->unknown_attributes()) {
    start->add_unknown_attribute(name, value);
  }
  inst->SetupDerivedInstruction(done);
  for (HloInstruction* before : inst->control_predecessors()) {
    TF_RETURN_IF_ERROR(before->AddControlDependencyTo(start));
  }
  for (HloInstruction* after : inst->control_successors()) {
    TF_RETURN_IF_ERROR(done->AddControlDependencyTo(after));
  }
  TF_RETURN_IF_ERROR(inst->DropAllControlDeps());
  return computation->ReplaceInstruction(inst, done);
}

}  // namespace

absl::StatusOr<bool> AsyncCollectiveCreator::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!IsToBeSplit(*inst, options_.min_bytes)) continue;
      TF_RETURN_IF_ERROR(Split(inst));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
