// Which outputs may take the memory of operands.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/elementwise_uses.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

// Rules for writing a result over an operand. They assume that the operand dies
// at the user, which the caller checks; here the question is only whether the
// computation of an element may still need operand elements that were
// overwritten. Elementwise computation at equal indices is safe, as are updates
// of the first operand. Hints from AliasInfo take precedence over all rules.

namespace xla {
namespace {

// Whether the root adds, to a dot or convolution, the fusion's operand `number`
// at `index`, which nobody else in the fusion reads.
bool IsAddendOfRoot(const HloDataflowAnalysis& dataflow,
                    const HloInstruction& fusion, int64_t number,
                    const ShapeIndex& index) {
  const HloInstruction* root = fusion.fused_expression_root();
  if (root->opcode() != HloOpcode::kAdd) return false;
  auto is_product = [](const HloInstruction* inst) {
    return inst->opcode() == HloOpcode::kDot ||
           inst->opcode() == HloOpcode::kConvolution;
  };
  if (is_product(root->operand(0)) == is_product(root->operand(1))) {
    return false;
  }
  const int64_t addend = is_product(root->operand(0)) ? 1 : 0;
  const absl::Span<const HloUse> uses =
      dataflow.GetUniqueValueAt(fusion.fused_parameter(number), index)
          .GetUses();
  return uses.size() == 1 && uses[0].instruction == root &&
         uses[0].operand_number == addend;
}

bool FusionCanShare(const HloDataflowAnalysis& dataflow,
                    const HloInstruction& fusion, const HloInstruction& operand,
                    const ShapeIndex& operand_index) {
  for (int64_t number : fusion.OperandIndices(&operand)) {
    const bool can =
        fusion.IsLoopFusion() || fusion.IsInputFusion() ||
                fusion.IsCustomFusion()
            ? OnlyElementwiseUsesInFusion(fusion, number)
            : fusion.IsOutputFusion() &&
                  IsAddendOfRoot(dataflow, fusion, number, operand_index);
    if (!can) return false;
  }
  return true;
}

// A call whose computation reads the operand only at its elementwise root.
bool CallCanShare(const HloDataflowAnalysis& dataflow,
                  const HloInstruction& call, const HloInstruction& operand,
                  const ShapeIndex& operand_index) {
  if (!dataflow.ValueIsDefinedAt(&operand, operand_index)) return false;
  const absl::Span<const HloUse> uses =
      dataflow.GetValueDefinedAt(&operand, operand_index).GetUses();
  const HloInstruction* root = call.to_apply()->root_instruction();
  const bool by_caller =
      std::any_of(uses.begin(), uses.end(),
                  [&](const HloUse& use) { return use.instruction == &call; });
  const bool by_root =
      std::any_of(uses.begin(), uses.end(), [&](const HloUse& use) {
        return use.instruction == root &&
               root->IsElementwiseOnOperand(use.operand_number);
      });
  return uses.size() == 2 && by_caller && by_root;
}

// Operand `number`, and that only.
bool IsOnlyOperand(const HloInstruction& user, const HloInstruction& operand,
                   int64_t number) {
  const auto indices = user.OperandIndices(&operand);
  return indices.size() == 1 && indices[0] == number;
}

bool SortCanShare(const HloInstruction& sort, const HloInstruction& operand,
                  const ShapeIndex& user_index) {
  if (operand.user_count() != 1) return false;
  if (sort.operand_count() == 1) return true;
  return !user_index.empty() && IsOnlyOperand(sort, operand, user_index[0]);
}

}  // namespace

bool HloDataflowAnalysis::DoesNotUseOperandBuffer(
    const HloInstruction* operand, const ShapeIndex& index,
    const HloInstruction* user) const {
  for (const HloValue* value : GetValueSet(operand, index).values()) {
    for (const HloUse& use : value->GetUses()) {
      if (use.instruction != user) continue;
      if (!user->IsLoopFusion()) return false;
      const HloInstruction* parameter =
          user->fused_parameter(use.operand_number);
      if (!GetValueDefinedAt(parameter, use.operand_index).GetUses().empty()) {
        return false;
      }
    }
  }
  return true;
}

bool HloDataflowAnalysis::CanShareOperandBufferWithUser(
    HloInstruction* operand, const ShapeIndex& operand_index,
    HloInstruction* user, const ShapeIndex& user_index,
    const AliasInfo* alias_info) const {
  CHECK(user->IsUserOf(operand))
      << user->name() << " is not a user of " << operand->name();
  if (operand->opcode() == HloOpcode::kConstant) return false;
  const AliasInfo default_info;
  if (alias_info == nullptr) alias_info = &default_info;
  // In place whatever the shapes say: a size that becomes dynamic, or a bitcast
  // inside of a fusion, does not move what is there.
  if (alias_info->MustAlias(operand, operand_index, user, user_index)) {
    return true;
  }
  const std::optional<bool> hint =
      alias_info->MayAlias(operand, operand_index, user, user_index);
  if (hint.has_value()) return *hint;
  if (!ShapeUtil::Equal(ShapeUtil::GetSubshape(operand->shape(), operand_index),
                        ShapeUtil::GetSubshape(user->shape(), user_index))) {
    return false;
  }
  switch (user->opcode()) {
    case HloOpcode::kFusion:
      return FusionCanShare(*this, *user, *operand, operand_index);
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
      return true;
    case HloOpcode::kAsyncUpdate:
      // Its contexts take the place of those that it is given.
      return operand_index == user_index && !user_index.empty() &&
             user_index[0] >= 2 && IsOnlyOperand(*user, *operand, 0);
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kScatter:
    case HloOpcode::kSetDimensionSize:
      return IsOnlyOperand(*user, *operand, 0);
    case HloOpcode::kTriangularSolve:
      return IsOnlyOperand(*user, *operand, 1);
    case HloOpcode::kSort:
      return SortCanShare(*user, *operand, user_index);
    case HloOpcode::kCall:
      return CallCanShare(*this, *user, *operand, operand_index);
    default: {  // Elementwise opcodes alone.
      const auto indices = user->OperandIndices(operand);
      return std::all_of(indices.begin(), indices.end(), [&](int64_t i) {
        return user->IsElementwiseOnOperand(i);
      });
    }
  }
}

}  // namespace xla
