#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOSE_INSTRUCTIONS_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOSE_INSTRUCTIONS_H_

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Puts instructions that are kernels in loop fusions, as backends have them in
// modules that they have finished: rewrites of loops leave some on their own.
//
//   i = select(n, a, b); u = dynamic-update-slice(s, v, i)
//   → u = fusion(s, v, n, a, b) {select, dynamic-update-slice}
//
// In scheduled computations, each takes in what nothing else reads of what it
// is computed from element by element, and all scalars: each fusion computes
// its own. Reads and updates of slices are not taken in, as what they read may
// change in between; a fusion that would only move a slice copies it, as XLA's
// backend makes mere transfers asynchronous, for which a finished schedule has
// no place. Copies, constants, what only renames and what is asynchronous stay.
// Updates the schedule; returns whether anything changed. Linear in the
// instructions, and in what is taken in times the operands of its fusion.
absl::StatusOr<bool> FuseLooseInstructions(HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOSE_INSTRUCTIONS_H_
