#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_COMPUTATION_PROBLEM_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_COMPUTATION_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {

// One scheduled computation as a RematProblem.
//
//   p = param; a = f(p); t = tuple(a, p); w = while(t); g = gte(w), 0; h(g)
//   → nodes p, a, w, h; w reads a and p, and its values lie in theirs
//
// Nodes are instructions except those that only rename values:
// get-tuple-element, bitcast, tuple. A value is one array or tuple table of a
// node's result. Bytes are those of rematerialization's accounting
// (remat_accounting.h): 0 for parameters and outputs; tables of tuples that
// only rename are left out.
struct ComputationProblem {
  RematProblem problem;
  std::vector<HloInstruction*> instructions;  // of each node
};

// The position of a shape index in pre-order: that of a value among those of
// its node.
int64_t PlaceOf(const Shape& shape, const ShapeIndex& index);

// What the backend's module overwrites in place (`placed`,
// overwritten_values.h) is marked as such: updates, loops' state, and arguments
// that results replace.
//
// `bytes`: of an array or a table of pointers, 0 in host memory; `seconds`:
// what one run of an instruction costs; `internal_bytes`: what the computations
// that it calls need. O(indices of all shapes).
ComputationProblem MakeComputationProblem(
    const HloInstructionSequence& sequence,
    absl::FunctionRef<int64_t(const Shape&)> bytes,
    absl::FunctionRef<double(const HloInstruction&)> seconds,
    absl::FunctionRef<int64_t(const HloInstruction&)> internal_bytes,
    bool placed = false);

struct ApplyOptions {
  // Clones wait behind opt-barriers (clone_ties.h), for compilers that choose
  // an order of their own.
  bool tie_clones = false;
  // Names of instructions that are fused into their readers if nothing waits
  // for them. Null: unknown. Must outlive the call.
  const absl::flat_hash_set<std::string>* fused = nullptr;
};

// Makes a computation run a program of its problem, whose nodes are `nodes`:
// repeated runs of a node are clones, named X.remat and marked for common
// subexpression elimination; tuples, bitcasts and get-tuple-elements follow
// what they rename; what no longer runs is removed. Sets the sequence of the
// schedule. Linear in the program and its operands.
absl::Status ApplyProgram(absl::Span<HloInstruction* const> nodes,
                          absl::Span<const NodeId> program,
                          const ApplyOptions& options,
                          HloComputation* computation, HloSchedule* schedule);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_COMPUTATION_PROBLEM_H_
