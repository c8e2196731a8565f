#ifndef XLA_HLO_TRANSFORMS_CONTROL_FLOW_INLINED_CALLS_H_
#define XLA_HLO_TRANSFORMS_CONTROL_FLOW_INLINED_CALLS_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Replaces an instruction that runs `callee` exactly once with the body of
// `callee`, applied to `operand`.
//
//   before: w = while(x), body=f     after: the instructions of f(x)
//
// Computations without remaining callers are removed from the module, so that
// those that the body calls have one caller again.
absl::Status InlineInPlaceOf(HloInstruction* instruction,
                             HloComputation* callee, HloInstruction* operand);

// Removes those of the computations that nothing calls, and what then nothing
// calls any more. O(instructions of what is removed).
absl::Status RemoveIfUncalled(std::vector<HloComputation*> computations);

// A copy of the list of what the instruction calls, to be looked at once it has
// gone.
std::vector<HloComputation*> CalleesOf(const HloInstruction& instruction);

// The computations of these threads that the entry runs, callees first. When
// they are visited in this order, none is removed before its turn: what a
// rewrite leaves uncalled is called by the computation it changes.
std::vector<HloComputation*> MakeCalledPostOrder(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

// Whether the computation, or one that it calls, sends or receives.
bool Communicates(const HloComputation& computation);

// Updates the module's schedule, if it has one, to the changed computations.
absl::Status UpdateScheduleIfAny(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_CONTROL_FLOW_INLINED_CALLS_H_
