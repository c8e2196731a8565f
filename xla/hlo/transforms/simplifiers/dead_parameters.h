#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_PARAMETERS_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_PARAMETERS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

struct DeadParameterOptions {
  // Parameters of computations that calls and async-starts call; parameters of
  // fusions are always removed.
  bool of_callees = false;
  // Parameters of the entry computation, which changes its signature.
  bool of_entry = false;
};

// Removes unread parameters of `computation`, with the operands that its
// callers bind to them; `operand_freed` is called for each such operand.
//
//   before: call(a, b), to_apply=f; f(x, y) = negate(x)
//   after:  call(a), to_apply=f; f(x) = negate(x)
//
// Leaves alone: parameters with control dependencies, computations with callers
// of other kinds (while, reduce, …), operands and entry parameters that an
// output aliases. For the entry, the layout, the donors, the aliases and the
// parameters' shardings are renumbered. Returns whether anything changed.
absl::StatusOr<bool> RemoveDeadParameters(
    HloComputation* computation, const DeadParameterOptions& options,
    absl::FunctionRef<void(HloInstruction*)> operand_freed);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_PARAMETERS_H_
