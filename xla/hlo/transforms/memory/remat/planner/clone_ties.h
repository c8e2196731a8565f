#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_CLONE_TIES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_CLONE_TIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// What the clones of a program wait for, so that no later pass merges a clone
// with its original again, and no scheduler runs the clone early: by position
// in the program, null for the first run of a node, or if there is nothing to
// wait for. With `fused`, broadcasts of constants that scatters add to wait,
// too, which schedulers run first of all otherwise.
//
//   a = f(p); b = g(a); …; e = k(d); a = f(p); r = h(a, e)
//   → the second a waits for e, which r reads anyway
//
// That is the latest value among those that the first non-clone reader reads
// beside clones, if it comes after the last previous reader of the value;
// otherwise the latest value at all. Only values that are read after the clone,
// which a barrier keeps alive no longer than they are: the original is none.
// And only arrays of first runs that are there, not just started, and none of
// `fused`, since a barrier would keep it from being fused. Linear in the
// program and its operands, of which a reader considers a bounded number for
// each clone.
std::vector<HloInstruction*> FindCloneTies(
    absl::Span<HloInstruction* const> nodes, absl::Span<const NodeId> program,
    const absl::flat_hash_set<std::string>* fused = nullptr);

// How well a barrier on an operand of a clone suits the final module; the
// lowest is best, negative ones are ruled out.
//
//   0 arguments and loop state, which are there in any case
//   1 results of what is never fused into readers, as of dots
//   2 the rest: to be held by a barrier they have to be written
//  -1 tuples, single elements and what is computed from constants alone, which
//     others want to evaluate
int TieRank(const HloInstruction& operand);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_CLONE_TIES_H_
