#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// A pass that replaces instructions of some kind with others, each by itself.
// The instructions that match when a derived pass starts are replaced, in the
// order of computations and, within one, operands before users; the results are
// not examined again. Leaves alone the insides of fusions.
class OpExpanderPass : public HloModulePass {
 protected:
  // Whether the pass replaces the instruction.
  virtual bool InstructionMatchesPattern(HloInstruction* instruction) = 0;

  // Returns the replacement, in the instruction's computation and of its shape;
  // null keeps the instruction after all. The instruction itself must be left
  // where it is.
  virtual absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* instruction) = 0;

  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_OP_EXPANDER_PASS_H_
