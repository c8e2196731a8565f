#include "xla/hlo/transforms/collectives/async_collective_creator.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
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
absl::StatusOr<std::pair<std::unique_ptr<HloInstruction>, HloOpcode>> MakeStart(
    const HloInstruction& inst, absl::Span<const Shape> context_shapes) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather: {
      const auto& gather = *Cast<HloAllGatherInstruction>(&inst);
      return std::make_pair(
          HloInstruction::CreateAllGatherStart(
              StateOf(inst), inst.operands(), gather.all_gather_dimension(),
              gather.device_list(), gather.constrain_layout(),
              gather.channel_id(), gather.use_global_device_ids()),
          HloOpcode::kAllGatherDone);
    }
    case HloOpcode::kAllReduce: {
      const auto& reduce = *Cast<HloAllReduceInstruction>(&inst);
      return std::make_pair(
          HloInstruction::CreateAllReduceStart(
              inst.shape(), inst.operands(), inst.to_apply(),
              reduce.device_list(), reduce.constrain_layout(),
              reduce.channel_id(), reduce.use_global_device_ids()),
          HloOpcode::kAllReduceDone);
    }
    case HloOpcode::kCollectivePermute: {
      const auto& permute = *Cast<HloCollectivePermuteInstruction>(&inst);
      std::vector<const Shape*> shapes;
      for (const HloInstruction* operand : inst.operands()) {
        shapes.push_back(&operand->shape());
      }
      TF_ASSIGN_OR_RETURN(Shape state,
                          ShapeInference::InferCollectivePermuteStartShape(
                              shapes, context_shapes, permute.inplace()));
      // The result may have a layout and a memory of its own.
      *state.mutable_tuple_shapes(1) = inst.shape();
      const absl::Span<HloInstruction* const> operands = inst.operands();
      return std::make_pair(
          permute.inplace()
              ? HloInstruction::CreateCollectivePermuteStart(
                    state, operands[0], operands[1], operands[2], operands[3],
                    permute.source_target_pairs(),
                    permute.dynamic_slice_sizes_list(), permute.channel_id())
              : HloInstruction::CreateCollectivePermuteStart(
                    state, operands, permute.source_target_pairs(),
                    permute.channel_id()),
          HloOpcode::kCollectivePermuteDone);
    }
    default:  // Wrapped.
      return std::make_pair(nullptr, inst.opcode());
  }
}

int64_t BytesOfResults(const HloInstruction& inst) {
  int64_t bytes = 0;
  ShapeUtil::ForEachLeafShape(
      inst.shape(), [&](const Shape& leaf, const ShapeIndex&) {
        bytes += ShapeUtil::ByteSizeOf(leaf, /*pointer_size=*/8);
      });
  return bytes;
}

bool IsToBeSplit(
    const HloInstruction& inst,
    const AsyncCollectiveCreator::CollectiveCreatorConfig& config) {
  switch (inst.opcode()) {
    case HloOpcode::kAllGather:
      return config.convert_all_gather(&inst) &&
             BytesOfResults(inst) >= config.all_gather_min_threshold_in_bytes;
    case HloOpcode::kAllReduce:
      return config.convert_all_reduce(&inst) &&
             BytesOfResults(inst) >= config.all_reduce_min_threshold_in_bytes;
    case HloOpcode::kAllToAll:
      return config.convert_all_to_all(&inst);
    case HloOpcode::kCollectiveBroadcast:
      return config.convert_collective_broadcast(&inst);
    case HloOpcode::kCollectivePermute:
      return config.convert_collective_permute(&inst);
    case HloOpcode::kRaggedAllToAll:
      return config.convert_ragged_all_to_all(&inst);
    case HloOpcode::kReduceScatter:
      return config.convert_reduce_scatter(&inst);
    default:  // No collectives, or under way already.
      return false;
  }
}

absl::Status Split(HloInstruction* inst,
                   absl::Span<const Shape> context_shapes) {
  HloComputation* computation = inst->parent();
  TF_ASSIGN_OR_RETURN((auto [made, done_opcode]),
                      MakeStart(*inst, context_shapes));
  if (made == nullptr) {
    return computation
        ->CreateAsyncInstructions(inst, context_shapes,
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

AsyncCollectiveCreator::AsyncCollectiveCreator()
    : AsyncCollectiveCreator(AsyncCollectiveCreatorOptions()) {}

AsyncCollectiveCreator::AsyncCollectiveCreator(
    const AsyncCollectiveCreatorOptions& options) {
  const HloPredicate is_large =
      [bytes = options.min_bytes](const HloInstruction* inst) {
        return BytesOfResults(*inst) >= bytes;
      };
  config_.convert_all_reduce = is_large;
  config_.convert_all_gather = is_large;
  config_.convert_collective_broadcast = is_large;
  config_.convert_collective_permute = [=](const HloInstruction* inst) {
    return !Cast<HloCollectivePermuteInstruction>(inst)->inplace() &&
           is_large(inst);
  };
  config_.convert_all_to_all = is_large;
  config_.convert_reduce_scatter = is_large;
  config_.convert_ragged_all_to_all = is_large;
}

absl::StatusOr<bool> AsyncCollectiveCreator::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!IsToBeSplit(*inst, config_)) continue;
      TF_RETURN_IF_ERROR(Split(inst, config_.get_context_shapes(inst)));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
