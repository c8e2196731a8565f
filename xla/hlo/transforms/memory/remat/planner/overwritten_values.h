#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_OVERWRITTEN_VALUES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_OVERWRITTEN_VALUES_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// Whether XLA's backend has finished the module: it contains library calls or
// fusions that have been configured. No copies are inserted any more, so that
// instructions that work in place overwrite their operand even if it is read
// later.
bool IsPlacedByBackend(const HloModule& module);

// Marks what instructions of such a module overwrite
// (RematProblem::Value::overwritten_by), so that nothing is recomputed from it
// afterwards.
//
//   x = param(0); y = f(x); u = dynamic-update-slice(x, v, i); g(y)
//   → no second run of f after u
//
// Overwritten are operands that are updated in place (alias_info.h), elements
// of a loop's state that its body changes (around the loop, and inside once the
// next state is computed), and arguments whose memory results take
// (input_output_alias). Values that the module itself reads afterwards are not:
// they are stored elsewhere. `points`: the values of an instruction, by shape
// index in pre-order; -1: none. O(indices of all shapes), and values that share
// their memory with an overwritten one.
using ValuesOf =
    absl::FunctionRef<const std::vector<ValueId>&(const HloInstruction*)>;
void MarkOverwrittenValues(ValuesOf points, const HloInstruction& root,
                           ComputationProblem* problem);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_OVERWRITTEN_VALUES_H_
