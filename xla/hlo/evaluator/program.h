#ifndef XLA_HLO_EVALUATOR_PROGRAM_H_
#define XLA_HLO_EVALUATOR_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// A computation prepared for evaluation: the live instructions in order, and
// where each value is used last, so that memory is bounded by live values. An
// instruction is live if the root or an instruction with a side effect depends
// on it.
struct ComputationPlan {
  struct Operand {
    // A slot holds the value of the step of that number.
    int32_t slot;
    // This is the last use of the slot.
    bool last_use;
  };
  struct Step {
    const HloInstruction* instruction;
    std::vector<Operand> operands;
    // Nobody reads the result.
    bool dead = false;
    // For a get-tuple-element: nothing reads that tuple element later.
    bool takes_element = false;
  };
  const HloComputation* computation = nullptr;
  std::vector<Step> steps;
  int32_t root = -1;  // Slot of the result.
};

// Everything about a module that does not depend on its inputs, made on first
// use and kept: plans, and scalar computations compiled to lane programs. One
// Program serves all devices of a run. The module must not change meanwhile.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const ComputationPlan& PlanFor(const HloComputation* computation);
  // Null if the computation is more than element-wise arithmetic on scalars.
  const LaneProgram* LanesFor(const HloComputation* computation);
  // Null if the computation is no loop over elements: LaneProgram::CompileLoop.
  const LaneProgram* LoopFor(const HloComputation* computation);
  // The program of an element-wise instruction; errors as in
  // CompileInstruction.
  absl::StatusOr<const LaneProgram*> LanesFor(
      const HloInstruction* instruction);

 private:
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<ComputationPlan>>
      plans_;
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<LaneProgram>>
      lanes_, loops_;
  absl::flat_hash_map<const HloInstruction*, std::unique_ptr<LaneProgram>>
      instruction_lanes_;
};

// The plan of what `root` alone depends on, with `root` as the result.
// Instructions for which `is_given` holds are steps without operands.
std::unique_ptr<ComputationPlan> MakePlanFrom(
    const HloInstruction* root,
    absl::FunctionRef<bool(const HloInstruction*)> is_given);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_PROGRAM_H_
