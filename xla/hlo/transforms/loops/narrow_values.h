#ifndef XLA_HLO_TRANSFORMS_LOOPS_NARROW_VALUES_H_
#define XLA_HLO_TRANSFORMS_LOOPS_NARROW_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Keeps what a fusion makes of a large value first instead of the value, where
// that has at most half of the bytes: masks of activations, above all.
//
//   x = f32[n] …; y = maximum(x, 0); …; d = fusion(x, g) {select(x > 0, g, 0)}
//   → x = f32[n] …; y = maximum(x, 0); m = pred[n] fusion(x) {x > 0}; …;
//     d = fusion(m, g) {select(m, g, 0)}
//
// Looks at loop and input fusions without control dependencies or dead
// instructions in computations that are scheduled. What is kept is
// element-wise, and follows from operands of which at least one, of `min_bytes`
// or more, is read for nothing else then: no parameter, not a part of the
// result, not read after the fusion, and not by what may hold it on: tuples,
// calls, loops, conditionals, barriers, sends and starts. (Where the operand
// itself is the result of one of these, what else reads the same memory is not
// asked.) It is computed after the last other reader of these, in a loop
// fusion; where nothing runs between that and the fusion, all stays as it is,
// unless the operand is an element of a tuple, whose memory the fusion cannot
// take, and the fusion's result needs as much. Updates the schedule. Keeps at
// most `max_values`, last readers first, and returns for each its reader, its
// name there, and the operands: "d: gt of x". O(instructions), and for each
// fusion and each value kept O(instructions in the fusion times its operands).
absl::StatusOr<std::vector<std::string>> KeepNarrowValues(int64_t min_bytes,
                                                          int64_t max_values,
                                                          HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_NARROW_VALUES_H_
