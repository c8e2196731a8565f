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

// What clones of a program wait for, so that no later pass makes one value of a
// clone and its original again, and no scheduler runs the clone early: by
// position in the program, null where a run is the first of its node, or where
// there is nothing to wait for.
//
//   a = f(p); b = g(a); …; e = k(d); a = f(p); r = h(a, e)
//   → the second a waits for e, which r reads anyway
//
// That is the latest value that the first reader which is no clone reads
// beside clones, if it comes after the last reader of the value as it was
// before; else the latest value that is read after the clone; arrays of first
// runs only, none of `fused`, as a barrier would keep it from being fused.
// Linear in the program and its operands, of which a reader counts a bounded
// number for each clone.
std::vector<HloInstruction*> FindCloneTies(
    absl::Span<HloInstruction* const> nodes, absl::Span<const NodeId> program,
    const absl::flat_hash_set<std::string>* fused = nullptr);

// How a barrier on an operand of a clone fits the module that results later;
// the lowest is best, negative ones are out of the question.
//
//   0 arguments and loop state, which are there in any case
//   1 results of what is never fused into readers, as of dots
//   2 the rest: to be held by a barrier they have to be written
//  -1 tuples, single elements and what is computed from constants alone, which
//     others want to evaluate
int TieRank(const HloInstruction& operand);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_CLONE_TIES_H_
