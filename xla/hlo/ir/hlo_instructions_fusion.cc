// Fusions.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_aliasing_renumbering.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/iterator_util.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;

HloFusionInstruction::HloFusionInstruction(const Shape& shape,
                                           FusionKind fusion_kind,
                                           HloInstruction* fused_root,
                                           absl::string_view prefix)
    : HloCallableInstruction(HloOpcode::kFusion, shape),
      fusion_kind_(fusion_kind) {
  CHECK(fused_root != nullptr);
  StartCalledComputation(fused_root, prefix);
}

HloFusionInstruction::HloFusionInstruction(const Shape& shape,
                                           FusionKind fusion_kind,
                                           Operands operands,
                                           HloComputation* fusion_computation,
                                           absl::string_view prefix)
    : HloCallableInstruction(HloOpcode::kFusion, shape, operands,
                             fusion_computation, prefix),
      fusion_kind_(fusion_kind) {}

std::string HloFusionInstruction::ToCategory() const {
  switch (fusion_kind_) {
    case FusionKind::kLoop:
      return "loop fusion";
    case FusionKind::kInput:
      return "input fusion";
    case FusionKind::kOutput:
      return "output fusion";
    case FusionKind::kCustom:
      return "custom fusion";
  }
  return "fusion";
}

// --- Body
// ---------------------------------------------------------------------

HloInstruction* HloFusionInstruction::fused_expression_root() const {
  return called_computation_root();
}

tsl::gtl::iterator_range<HloInstructionUnwrappingConstIterator>
HloFusionInstruction::fused_instructions() const {
  const HloComputation* computation = fused_instructions_computation();
  return computation->instructions();
}

tsl::gtl::iterator_range<HloInstructionUnwrappingIterator>
HloFusionInstruction::fused_instructions() {
  return fused_instructions_computation()->instructions();
}

int64_t HloFusionInstruction::fused_instruction_count() const {
  return fused_instructions_computation()->instruction_count();
}

HloInstruction* HloFusionInstruction::fused_parameter(
    int64_t parameter_number) const {
  return fused_instructions_computation()->parameter_instruction(
      parameter_number);
}

const HloInstruction::InstructionVector&
HloFusionInstruction::fused_parameters() const {
  return fused_instructions_computation()->parameter_instructions();
}

bool HloFusionInstruction::IsMultiOutputFusion() const {
  return fused_expression_root()->opcode() == HloOpcode::kTuple;
}

bool HloFusionInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  if (!operand_idx.has_value()) {
    for (const HloInstruction* fused : fused_instructions()) {
      if (fused->opcode() != HloOpcode::kParameter && !fused->IsElementwise()) {
        return false;
      }
    }
    return true;
  }
  // Every step from the parameter to the root has to be elementwise.
  std::vector<const HloInstruction*> worklist = {fused_parameter(*operand_idx)};
  absl::flat_hash_set<const HloInstruction*> seen(worklist.begin(),
                                                  worklist.end());
  while (!worklist.empty()) {
    const HloInstruction* value = worklist.back();
    worklist.pop_back();
    for (const HloInstruction* user : value->users()) {
      for (int64_t i : user->OperandIndices(value)) {
        if (!user->IsElementwiseOnOperand(i)) return false;
      }
      if (seen.insert(user).second) worklist.push_back(user);
    }
  }
  return true;
}

// --- Operands
// -----------------------------------------------------------------

HloInstruction* HloFusionInstruction::AddFusionOperand(
    HloInstruction* new_operand) {
  return AddCallOperand(new_operand);
}

absl::Status HloFusionInstruction::DeduplicateFusionOperands() {
  absl::flat_hash_map<const HloInstruction*, int64_t> first_position;
  std::vector<int> duplicates;
  std::vector<int64_t> new_number;
  for (int64_t i = 0; i < operand_count(); ++i) {
    auto [it, is_new] = first_position.emplace(operand(i), i);
    new_number.push_back(is_new ? i - static_cast<int64_t>(duplicates.size())
                                : new_number[it->second]);
    if (is_new) continue;
    TF_RETURN_IF_ERROR(
        fused_parameter(i)->ReplaceAllUsesWith(fused_parameter(it->second)));
    duplicates.push_back(static_cast<int>(i));
  }
  for (auto it = duplicates.rbegin(); it != duplicates.rend(); ++it) {
    TF_RETURN_IF_ERROR(fused_instructions_computation()->ForceRemoveInstruction(
        fused_parameter(*it)));
  }
  RemoveOperandsAtAscendingIndices(duplicates);
  RenumberAliasedOperands(this, [&](int64_t number) {
    return std::make_optional(new_number[number]);
  });
  return absl::OkStatus();
}

absl::Status HloFusionInstruction::PermuteFusionOperands(
    absl::Span<const int64_t> permutation) {
  TF_RET_CHECK(static_cast<int64_t>(permutation.size()) == operand_count());
  std::vector<int64_t> old_number(permutation.size(), -1);
  for (int64_t i = 0; i < operand_count(); ++i) {
    const int64_t place = permutation[i];
    TF_RET_CHECK(place >= 0 && place < operand_count() &&
                 old_number[place] == -1)
        << "not a permutation";
    old_number[place] = i;
  }
  TF_RETURN_IF_ERROR(
      fused_instructions_computation()->PermuteParameters(old_number));
  const InstructionVector old_operands = operands();
  for (int64_t i = 0; i < operand_count(); ++i) {
    TF_RETURN_IF_ERROR(
        ReplaceOperandWithDifferentShape(i, old_operands[old_number[i]]));
  }
  RenumberAliasedOperands(this, [&](int64_t number) {
    return std::make_optional(permutation[number]);
  });
  return absl::OkStatus();
}

// --- Equality and copies
// ------------------------------------------------------

bool HloFusionInstruction::IdenticalSlowPath(const HloInstruction& other,
                                             EqComputations eq) const {
  const auto& that = static_cast<const HloFusionInstruction&>(other);
  return fusion_kind_ == that.fusion_kind_ &&
         output_to_operand_aliasing() == that.output_to_operand_aliasing() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

void HloFusionInstruction::HashAdditionalAttributes(absl::HashState h) const {
  absl::HashState::combine(std::move(h), fusion_kind_,
                           fused_expression_root()->opcode(),
                           fused_instruction_count());
}

HloPtr HloFusionInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext* context) const {
  auto computations = GetOrCloneCalledComputations(context);
  CHECK_EQ(computations.size(), 1);
  auto clone = std::make_unique<HloFusionInstruction>(
      shape, fusion_kind_, new_operands, computations.front());
  clone->set_output_to_operand_aliasing(output_to_operand_aliasing());
  return clone;
}

}  // namespace xla
