#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_UNFUSING_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_UNFUSING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Takes the accesses of stacked residuals (loop_residuals.h) out of fusions, so
// that they become visible to rewrites.
//
//   forward:   s = fusion(stack, i, x) {…, dynamic-update-slice}
//              → v = …x…; s = dynamic-update-slice(stack, v, i, 0)
//   backward:  y = fusion(stack, i, z) {dynamic-slice(stack, i, 0), …}
//              → r = dynamic-slice(stack, i, 0); y = fusion(r, z) {…}
//
// In bodies of loops with a flat state (loop_state.h): fusions that pass on an
// element of the state after writing a slice into it are taken apart
// completely, also those that an asynchronous chain consists of, and those that
// count trips; reads of elements that the loop merely carries are taken out of
// their fusions. Updates the schedule. Changes the first `max_fusions` of
// those, callees first, and returns their names. Linear.
absl::StatusOr<std::vector<std::string>> UnfuseStackAccess(int64_t max_fusions,
                                                           HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_UNFUSING_H_
