#include "xla/backends/gpu/transforms/reductions/reduction_epilogue_flattener.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool IsView(const HloInstruction& value) {
  return (value.opcode() == HloOpcode::kBitcast ||
          (value.opcode() == HloOpcode::kReshape &&
           ShapeUtil::ReshapeIsBitcast(value.operand(0)->shape(),
                                       value.shape()))) &&
         value.shape().element_type() ==
             value.operand(0)->shape().element_type();
}

bool IsScalarBroadcast(const HloInstruction& value) {
  return value.opcode() == HloOpcode::kBroadcast &&
         value.operand(0)->shape().dimensions().empty();
}

// Which operand comes from the reduction, if the instruction is one that may
// stand behind it.
std::optional<int64_t> OperandInEpilogue(const HloInstruction& value) {
  if (IsView(value)) return 0;
  if (!value.IsElementwise() || value.opcode() == HloOpcode::kCopy) {
    return std::nullopt;
  }
  std::optional<int64_t> number;
  for (int64_t i = 0; i < value.operand_count(); ++i) {
    if (IsScalarBroadcast(*value.operand(i))) continue;
    // Layouts that differ move elements.
    if (number.has_value() || !ShapeUtil::EqualIgnoringElementType(
                                  value.operand(i)->shape(), value.shape())) {
      return std::nullopt;
    }
    number = i;
  }
  return number;
}

// The instructions between the reduction and the result, the result first;
// empty if there is nothing to do.
//
// Reshapes behind the reduction keep the emitter from writing results where
// they are computed. They are removed by computing the epilogue in the shape of
// the reduction and reshaping outside the fusion, where it is a bitcast.
std::vector<HloInstruction*> FindEpilogue(const HloInstruction& fusion,
                                          const se::DeviceDescription& device) {
  std::vector<HloInstruction*> epilogue;
  HloInstruction* root = fusion.fused_expression_root();
  HloInstruction* value = root;
  while (value->opcode() != HloOpcode::kReduce) {
    if (value->user_count() != (value == root ? 0 : 1)) return {};
    const std::optional<int64_t> operand = OperandInEpilogue(*value);
    if (!operand.has_value()) return {};
    epilogue.push_back(value);
    value = value->mutable_operand(*operand);
  }
  if (value->user_count() != 1 || !value->shape().IsArray() ||
      !IsReductionFromOrToContiguousDimensions(*value, device) ||
      !ReductionIsRaceFree(GetReductionKindAndContiguousComponents(*value),
                           device) ||
      ShapeUtil::SameDimensions(value->shape(), root->shape())) {
    return {};
  }
  return epilogue;
}

// Computes what the epilogue does in the dimensions of the reduction.
HloInstruction* RebuildEpilogue(const std::vector<HloInstruction*>& epilogue) {
  HloInstruction* last = epilogue.back();
  HloInstruction* value = last->mutable_operand(*OperandInEpilogue(*last));
  const Shape& flat = value->shape();
  for (auto it = epilogue.rbegin(); it != epilogue.rend(); ++it) {
    HloInstruction* old = *it;
    if (IsView(*old)) continue;
    const int64_t inner = *OperandInEpilogue(*old);
    std::vector<HloInstruction*> operands;
    for (int64_t i = 0; i < old->operand_count(); ++i) {
      if (i == inner) {
        operands.push_back(value);
        continue;
      }
      HloInstruction* other = old->mutable_operand(i);
      operands.push_back(old->AddInstruction(HloInstruction::CreateBroadcast(
          ShapeUtil::ChangeElementType(flat, other->shape().element_type()),
          other->mutable_operand(0), {})));
    }
    value = old->AddInstruction(old->CloneWithNewOperands(
        ShapeUtil::ChangeElementType(flat, old->shape().element_type()),
        operands));
  }
  return value;
}

bool MayChange(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kFusion &&
         (instruction.IsInputFusion() || instruction.IsLoopFusion()) &&
         !instruction.HasControlDependencies() &&
         Cast<HloFusionInstruction>(&instruction)
             ->output_to_operand_aliasing()
             .empty();
}

absl::Status Flatten(HloInstruction* fusion,
                     const se::DeviceDescription& device) {
  HloComputation* computation = fusion->parent();
  HloComputation* body = computation->parent()->AddEmbeddedComputation(
      fusion->fused_instructions_computation()->Clone("flat"));
  HloInstruction* flat =
      computation->AddInstruction(HloInstruction::CreateFusion(
          fusion->shape(), fusion->fusion_kind(), fusion->operands(), body));
  flat->set_metadata_ptr(fusion->metadata_ptr());
  flat->set_raw_backend_config_string(fusion->raw_backend_config_string());
  HloInstruction* old_root = flat->fused_expression_root();
  HloInstruction* root = RebuildEpilogue(FindEpilogue(*flat, device));
  body->set_root_instruction(root, /*accept_different_shape=*/true);
  TF_RETURN_IF_ERROR(body->RemoveInstructionAndUnusedOperands(
      old_root, /*cleanup=*/std::nullopt,
      /*ignore_control_dependencies=*/true));
  *flat->mutable_shape() = root->shape();
  HloInstruction* view = computation->AddInstruction(
      HloInstruction::CreateBitcast(fusion->shape(), flat));
  return computation->ReplaceInstruction(fusion, view);
}

}  // namespace

absl::StatusOr<bool> ReductionEpilogueFlattener::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      LoadGpuDevice(options_.device));
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      if (!MayChange(*instruction) ||
          FindEpilogue(*instruction, device).empty()) {
        continue;
      }
      TF_RETURN_IF_ERROR(Flatten(instruction, device));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
