#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// A pass that writes instructions of some kind as others, each by itself. What
// a derived pass finds in the module when it starts is replaced, in the order
// of computations and, within one, operands before users; what it makes is not
// looked at again. Leaves alone what stands in fusions.
class OpExpanderPass : public HloModulePass {
 protected:
  // Whether the pass replaces the instruction.
  virtual bool InstructionMatchesPattern(HloInstruction* instruction) = 0;

  // Returns what stands for the instruction, in its computation and of its
  // shape; null if that is the instruction itself after all. The instruction
  // must be left where it is.
  virtual absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* instruction) = 0;

  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_
