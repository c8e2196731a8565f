#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_FUSED_VALUES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_FUSED_VALUES_H_

#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// A problem without the values that a compiler will compute inside of their
// readers, where they take no memory, and the conversion of its programs back.
//
//   a = f(p); b = g(a); c = h(b, p)     b is fused into c
//   → nodes p, a, c; c reads a and p
//   program  p a c c  →  p a b c b c
//
// A node that runs again also reruns what is fused into it, so that each clone
// can be a kernel of its own.
class FusedValues {
 public:
  // `fused`: by node of the problem. Nodes are kept if they may not run again,
  // have several values or shared memory, call computations or leave the
  // computation, or if their readers would read too much.
  FusedValues(ComputationProblem whole, std::vector<bool> fused);

  // The problem without them.
  const ComputationProblem& rest() const { return rest_; }

  const std::vector<HloInstruction*>& instructions() const {
    return whole_.instructions;
  }
  // The same program of the whole problem. Linear in what it returns, and
  // sorting what is fused into each step.
  std::vector<NodeId> Expand(absl::Span<const NodeId> program) const;

 private:
  void KeepWhatHasToStay();
  void FindReads();
  void MakeRest();

  const ComputationProblem whole_;
  std::vector<bool> fused_;                  // by node of the whole problem
  std::vector<std::vector<ValueId>> reads_;  // by node: values that are there
  std::vector<int32_t> place_;               // by node: in the order
  ComputationProblem rest_;
  std::vector<NodeId> whole_of_;  // by node of the rest
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_FUSED_VALUES_H_
