#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_IN_PLACE_VALUES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_IN_PLACE_VALUES_H_

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"

namespace xla::remat_plan {

// Finds results that may take the memory of values that are not read
// afterwards, as `alias_info` says or, if it has no opinion, as the report of
// the memory analysis counts them: results of elementwise instructions, of
// fusions that use an operand elementwise; only of operands' own results, not
// of instructions that merely rename them. Results of updates, and of library
// calls that add to an operand, count through renaming, too.
//
//   e = exp(x); r = reduce(e)      → e lies where x was
//   e = exp(x); s = subtract(x, e) → s lies where x was, e does not
//
// O(operands, and for fusions their instructions per operand).
void FindInPlaceValues(const AliasInfo& alias_info,
                       ComputationProblem* problem);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_IN_PLACE_VALUES_H_
