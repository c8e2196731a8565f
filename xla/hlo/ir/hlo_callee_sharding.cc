#include "xla/hlo/ir/hlo_callee_sharding.h"

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

bool MayShardRoot(const HloComputation& computation,
                  const HloSharding& sharding) {
  const auto fits = [&](const HloInstruction* other) {
    return !other->has_sharding() || other->sharding() == sharding;
  };
  return absl::c_all_of(
      computation.caller_instructions(), [&](const HloInstruction* caller) {
        if (caller->opcode() == HloOpcode::kWhile) {
          const HloComputation* condition = caller->while_condition();
          return caller->while_body() != &computation ||
                 (fits(caller) && fits(condition->parameter_instruction(0)) &&
                  fits(computation.parameter_instruction(0)));
        }
        if (caller->opcode() != HloOpcode::kConditional) return true;
        return fits(caller) &&
               absl::c_all_of(caller->branch_computations(),
                              [&](const HloComputation* branch) {
                                return branch == &computation ||
                                       fits(branch->root_instruction());
                              });
      });
}

}  // namespace xla
