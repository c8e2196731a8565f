#include "xla/hlo/transforms/simplifiers/dead_parameters.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

bool IsUnread(const HloInstruction& parameter) {
  return parameter.user_count() == 0 && !parameter.IsRoot() &&
         !parameter.HasControlDependencies();
}

// Whether the callers bind operands to parameters one to one.
bool CallersCanDropOperands(const HloComputation& computation,
                            bool of_callees) {
  absl::InlinedVector<HloInstruction*, 1> callers =
      computation.caller_instructions();
  if (callers.empty()) return false;
  return absl::c_all_of(callers, [&](const HloInstruction* caller) {
    switch (caller->opcode()) {
      case HloOpcode::kFusion:
        return !caller->IsCustomFusion();
      case HloOpcode::kCall:
        return of_callees && !caller->is_composite();
      case HloOpcode::kAsyncStart:
        // Operands may be bound later in the chain.
        return of_callees &&
               caller->operand_count() == computation.num_parameters();
      case HloOpcode::kAsyncUpdate:
      case HloOpcode::kAsyncDone:
        return of_callees && caller->operand_count() == 1;
      default:  // Its callees' parameters are not its operands.
        return false;
    }
  });
}

bool AnyOutputAliases(const HloModule& module, int64_t number) {
  bool found = false;
  module.input_output_alias_config().ForEachAlias(
      [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias& alias) {
        found |= alias.parameter_number == number;
      });
  return found;
}

// Layout, aliases and donors follow the removal of a parameter; the shardings
// of parameters do not.
void ForgetParameterSharding(HloModule* module, int64_t number) {
  if (!module->has_spmd_parameters_shardings()) return;
  std::vector<HloSharding> shardings = module->spmd_parameters_shardings();
  if (number >= static_cast<int64_t>(shardings.size())) return;
  shardings.erase(shardings.begin() + number);
  module->set_spmd_parameters_shardings(shardings);
}

absl::StatusOr<bool> RemoveDeadEntryParameters(HloComputation* computation) {
  HloModule* module = computation->parent();
  bool changed = false;
  for (int64_t i = computation->num_parameters() - 1; i >= 0; --i) {
    if (!IsUnread(*computation->parameter_instruction(i)) ||
        AnyOutputAliases(*module, i)) {
      continue;
    }
    TF_RETURN_IF_ERROR(computation->RemoveUnusedParameterAndOperands(i));
    ForgetParameterSharding(module, i);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> RemoveDeadParameters(
    HloComputation* computation, const DeadParameterOptions& options,
    absl::FunctionRef<void(HloInstruction*)> operand_freed) {
  if (computation->IsEntryComputation()) {
    if (!options.of_entry) return false;
    return RemoveDeadEntryParameters(computation);
  }
  if (!CallersCanDropOperands(*computation, options.of_callees)) return false;
  bool changed = false;
  // From the last on, so that the numbers of those before stay.
  for (int64_t i = computation->num_parameters() - 1; i >= 0; --i) {
    if (!IsUnread(*computation->parameter_instruction(i))) continue;
    std::vector<HloInstruction*> operands;
    absl::Status removed =
        computation->RemoveUnusedParameterAndOperands(i, &operands);
    // An output aliases the operand: it stays.
    if (absl::IsFailedPrecondition(removed)) continue;
    TF_RETURN_IF_ERROR(removed);
    for (HloInstruction* operand : operands) operand_freed(operand);
    changed = true;
  }
  return changed;
}

}  // namespace xla
