#ifndef XLA_HLO_TRANSFORMS_LOOPS_FUSION_SPLITTING_H_
#define XLA_HLO_TRANSFORMS_LOOPS_FUSION_SPLITTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Splits each large result of a multi-output fusion into a fusion of its own,
// so that it can be computed when it is read, and recomputed without the
// others.
//
//   f = (f32[n], f32[n], f32[]) fusion(x, y) {a(x), b(x, y), s(y)}
//   → s = f32[] fusion(y); a = f32[n] fusion(x); b = f32[n] fusion(x, y)
//
// In scheduled computations, at the place of the fusion: loop and input fusions
// whose results are arrays read one by one, at least two of them; not those
// that write in place, pass on an operand, compute a result of the whole
// computation (it may share an argument's memory) or have control dependencies.
// Results of less than `min_bytes` stay together, and come first; unread
// results are no longer computed. Updates the schedule. Splits the first
// `max_fusions`, callees first, and returns their names. Linear in the fusions'
// bodies times their results.
absl::StatusOr<std::vector<std::string>> SplitFusions(int64_t min_bytes,
                                                      int64_t max_fusions,
                                                      HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_FUSION_SPLITTING_H_
