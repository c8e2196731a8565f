#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/preprocess.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

bool IsProduct(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kConvolution ||
         hlo.opcode() == HloOpcode::kDot ||
         hlo.opcode() == HloOpcode::kRaggedDot ||
         hlo.opcode() == HloOpcode::kScaledDot;
}

// The type of its sum; invalid if that is the type of its result, or rounds to
// it element by element.
PrimitiveType SumOfFloatsType(const HloInstruction& hlo) {
  const PrimitiveType lhs = hlo.operand(0)->shape().element_type();
  const PrimitiveType rhs = hlo.operand(1)->shape().element_type();
  const PrimitiveType result = hlo.shape().element_type();
  if ((!primitive_util::IsIntegralType(result) && result != PRED) ||
      (!primitive_util::IsFloatingPointType(lhs) &&
       !primitive_util::IsFloatingPointType(rhs))) {
    return PRIMITIVE_TYPE_INVALID;
  }
  return lhs == F64 || rhs == F64 ? F64 : F32;
}

}  // namespace

// An integer result of float factors is cut off once, behind the sum. Where the
// sum is one of shards, each shard's result would be cut off: 0.5 + 0.5 would
// become 0 + 0.
absl::Status SumFloatsBeforeTheyAreCutOff(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What is asynchronous is not divided.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (!IsProduct(*hlo)) continue;
      const PrimitiveType type = SumOfFloatsType(*hlo);
      if (type == PRIMITIVE_TYPE_INVALID) continue;
      HloInstruction* sum =
          computation->AddInstruction(hlo->CloneWithNewOperands(
              ShapeUtil::ChangeElementType(hlo->shape(), type),
              hlo->operands()));
      sum->set_sharding(hlo->sharding());
      HloInstruction* result = computation->AddInstruction(
          HloInstruction::CreateConvert(hlo->shape(), sum));
      result->set_sharding(hlo->sharding());
      result->set_metadata(hlo->metadata());
      RETURN_IF_ERROR(hlo->CopyAllControlDepsTo(sum, result));
      RETURN_IF_ERROR(hlo->DropAllControlDeps());
      RETURN_IF_ERROR(hlo->ReplaceAllUsesWith(result));
      RETURN_IF_ERROR(computation->RemoveInstruction(hlo));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::spmd
