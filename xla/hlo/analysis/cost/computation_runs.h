#ifndef XLA_HLO_ANALYSIS_COST_COMPUTATION_RUNS_H_
#define XLA_HLO_ANALYSIS_COST_COMPUTATION_RUNS_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// How often every computation runs in one run of the entry: loop bodies as
// often as their trip counts, all branches of a conditional once.
// O(instructions).
class ComputationRuns {
 public:
  explicit ComputationRuns(const HloModule& module);

  // 0 for computations that the entry does not reach.
  double Of(const HloComputation* computation) const;
  // Loops with unknown trip counts; they count once.
  const std::vector<const HloInstruction*>& unknown_loops() const {
    return unknown_loops_;
  }

 private:
  absl::flat_hash_map<const HloComputation*, double> runs_;
  std::vector<const HloInstruction*> unknown_loops_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_COMPUTATION_RUNS_H_
