#ifndef XLA_HLO_ANALYSIS_HLO_LIVENESS_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_HLO_LIVENESS_ANALYSIS_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"

namespace xla {

// Which parts of which values matter: to the result of the entry computation,
// or to an instruction with a side effect.
//
//   w = (s32[], f32[8], f32[8]) while(init), …   w{0} and w{1} are live, and so
//   ROOT r = get-tuple-element(w), index=1       are init{0}, init{1}; w{2} is
//                                                dead if only itself reads it
//
// Finer than counting users: an element of a loop's state that only feeds its
// own next value is dead. Propagates backwards from the live ends, element by
// element through tuple, get-tuple-element, while, conditional and call; all
// other instructions need all of their operands. A live while needs its
// condition.
//
// O(subshapes of live values + operands + calls).
class HloLivenessAnalysis {
 public:
  static absl::StatusOr<std::unique_ptr<HloLivenessAnalysis>> Run(
      const HloModule& module);

  // False for instructions unknown to the analysis. If any part of a value is
  // live, so is {}.
  bool IsLive(const HloInstruction* instruction,
              const ShapeIndex& shape_index) const;

 private:
  // For tuple values: which subshapes are live.
  using HloIndexMap = absl::flat_hash_map<const HloInstruction*,
                                          std::unique_ptr<ShapeTree<bool>>>;

  explicit HloLivenessAnalysis(const HloModule& module)
      : slots_(module), is_live_(slots_.size(), false) {}

  void FindArguments(const HloModule& module);

  void Mark(const HloInstruction* inst, const ShapeIndex& index);
  void MarkAll(const HloInstruction* inst);
  // Marks the callers of a live computation.
  void MarkCallers(const HloComputation* computation);
  // Called when an instruction becomes live.
  void PropagateExecution(const HloInstruction* inst);
  // Called when another part of its value becomes live.
  void PropagateIndex(const HloInstruction* inst, const ShapeIndex& index);
  void PropagateParameter(const HloInstruction* parameter,
                          const ShapeIndex& index);
  void Finish();

  InstructionSlots slots_;
  bool whole_loop_states_ = false;  // xla_disable_while_loop_dce
  std::vector<bool> is_live_;       // by slot
  HloIndexMap live_parts_;
  std::vector<std::pair<const HloInstruction*, ShapeIndex>> work_;
  absl::flat_hash_set<const HloComputation*> computations_that_run_;
  // Keyed by branch computation: the operands that its parameters take.
  absl::flat_hash_map<const HloComputation*, std::vector<const HloInstruction*>>
      arguments_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_LIVENESS_ANALYSIS_H_
