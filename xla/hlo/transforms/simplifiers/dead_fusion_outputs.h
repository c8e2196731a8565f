#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_FUSION_OUTPUTS_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_FUSION_OUTPUTS_H_

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla {

// If `computation` is the body of a multi-output fusion, drops the outputs that
// nothing reads and renumbers the get-tuple-elements.
//
//   before: f = (s, t, u) fusion(…), root tuple(a, b, c); reads 0 and 2
//   after:  f = (s, u) fusion(…), root tuple(a, c); reads 0 and 1
//
// A single remaining output needs no tuple: its readers read the fusion itself.
// Leaves alone fusions that are custom, have control dependencies, alias
// outputs to operands, or have a sharded root or a user that is not a
// get-tuple-element; and outputs with side effects. Returns whether anything
// changed.
absl::StatusOr<bool> RemoveDeadFusionOutputs(HloComputation* computation);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_DEAD_FUSION_OUTPUTS_H_
