#include "xla/hlo/transforms/operations/float_normalization.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/transforms/operations/hlo_element_type_converter.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

constexpr int kNarrowestArithmetic = 16;

bool IsArithmetic(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kClamp:
    case HloOpcode::kCompare:
    case XLA_ANY_BINARY_FUNCTION:
    case XLA_ANY_UNARY_FUNCTION:
      return true;
    default:  // Moves, chooses or converts elements, or calls computations.
      return false;
  }
}

bool IsNarrowFloat(const HloInstruction* operand) {
  const PrimitiveType type = operand->shape().element_type();
  return primitive_util::IsFloatingPointType(type) &&
         primitive_util::BitWidth(type) < kNarrowestArithmetic;
}

bool IsReducingCollective(const HloInstruction* caller) {
  return HloPredicateIsOp<HloOpcode::kAllReduce, HloOpcode::kAllReduceStart,
                          HloOpcode::kReduceScatter>(caller);
}

}  // namespace

absl::StatusOr<bool> FloatNormalization::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread has to stay one operation,
    // and what collectives apply is known by its one operation.
    if ((computation->IsAsyncComputation() && computation->IsMainThread()) ||
        absl::c_any_of(computation->caller_instructions(),
                       IsReducingCollective)) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!IsArithmetic(inst->opcode())) continue;
      const auto narrow = absl::c_find_if(inst->operands(), IsNarrowFloat);
      if (narrow == inst->operands().end()) continue;
      TF_RETURN_IF_ERROR(
          ComputeInType(F32, (*narrow)->shape().element_type(), inst));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
