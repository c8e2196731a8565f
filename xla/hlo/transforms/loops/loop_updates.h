#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_UPDATES_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_UPDATES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Updates arguments in the loop that makes their gradients, instead of stacking
// the gradients of all layers and updating afterwards:
//
//   w = while(tuple(zeros, …)), body: g[i] = dw;  p' = p - rate * g
//   → w = while(tuple(p, …)), body: p[i] = p[i] - rate * dw;  p' = element of w
//
// where p' takes the memory of the argument p (input_output_alias). Training
// steps that scan their layers end like this, with the gradients of all layers
// live at once; only those of one layer at a time remain. The results are the
// same, and fewer bytes move. (For PyTorch, see Lv et al., "Full Parameter
// Fine-tuning for Large Language Models with Limited Resources", 2023.)
//
// The loop, of the entry computation, counts its trips and writes each place of
// the stack in one of them. What follows from the stack is elementwise, or
// transposed, and else reads arguments and values that the loop does not wait
// for: where gradients are scaled by the norm of all of them, the stacks stay.
// Of the values that are read further, at most one has no argument's memory; it
// takes the stack's. An argument is overwritten only if nothing reads it later
// than the trip does that updates it.
//
// Leaves stacks of fewer than `min_bytes` as they are, rewrites at most
// `max_rewrites`, in the order of the schedule and of the state, updates the
// schedule, and describes each: "element 2 of w, 8.0 MiB, becomes p', m' in the
// body". O(instructions) for each loop with such stacks.
absl::StatusOr<std::vector<std::string>> UpdateArgumentsInLoops(
    int64_t min_bytes, int64_t max_rewrites, HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_UPDATES_H_
