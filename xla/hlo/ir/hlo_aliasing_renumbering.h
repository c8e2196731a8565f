#ifndef XLA_HLO_IR_HLO_ALIASING_RENUMBERING_H_
#define XLA_HLO_IR_HLO_ALIASING_RENUMBERING_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instructions_callable.h"
#include "xla/shape_util.h"

// Private to fusion surgery.

namespace xla {

// Updates aliasing after the operands of `caller` were renumbered: `new_number`
// maps old numbers to new ones, or to nullopt for a removed operand, whose
// aliasing is removed too.
inline void RenumberAliasedOperands(
    HloCallableInstruction* caller,
    absl::FunctionRef<std::optional<int64_t>(int64_t)> new_number) {
  if (caller->output_to_operand_aliasing().empty()) return;
  std::vector<std::pair<ShapeIndex, std::pair<int64_t, ShapeIndex>>> aliasing;
  for (const auto& [output, operand] : caller->output_to_operand_aliasing()) {
    if (std::optional<int64_t> number = new_number(operand.first)) {
      aliasing.push_back({output, {*number, operand.second}});
    }
  }
  caller->set_output_to_operand_aliasing(std::move(aliasing));
}

// Updates aliasing after the single output of `caller` became element 0 of a
// tuple.
inline void PrefixAliasedOutputs(HloCallableInstruction* caller) {
  if (caller->output_to_operand_aliasing().empty()) return;
  auto aliasing = caller->output_to_operand_aliasing();
  for (auto& [output, operand] : aliasing) output.push_front(0);
  caller->set_output_to_operand_aliasing(std::move(aliasing));
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_ALIASING_RENUMBERING_H_
