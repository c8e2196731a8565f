#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla::gpu {

// Lets a kernel that already has a value write the smaller value that a later
// kernel derives from it.
//
//   before: y = f32[n] fusion(x): maximum(x, 0)
//           …
//           d = f32[n] fusion(x, g): select(x > 0, g, 0)
//   after:  (y, m) = (f32[n], pred[n]) fusion(x): maximum(x, 0), x > 0
//           …
//           d = f32[n] fusion(m, g): select(m, g, 0)
//
// Instead of the 4 bytes per element that d read, it reads 1, and 1 more is
// written. Candidates come from mof_narrow_parts.h; equal values of several
// kernels become one output. The host is a kernel that produces or reads all of
// the large operands, the one that saves the most (the first in post order
// among equals); all readers come later in that order, so no cycle can arise.
// The two must be fusible under the rules of any fusion (gpu_fusible.h: loops,
// budgets), together move fewer bytes than before, and take no more time by the
// model. A result of the kernel that has no readers left is removed.
//
// Repeats until nothing is left to do, at most kMaxNarrowRounds times; the most
// bytes first. O(instructions * kMaxNarrowChain) per round and O(size) of the
// two kernels per output.
//
// Leaves alone: custom fusions, roots, updates in place, control dependencies,
// and everything if the context bans kNarrowOutputs. Adds to `groups` (null:
// nowhere) a member of that name for each kernel that has gained an output, and
// keeps existing groups up to date. Returns the number of outputs.
absl::StatusOr<int64_t> AddNarrowOutputs(HloComputation* computation,
                                         const MofContext& context,
                                         std::vector<FusionGroup>* groups);

inline constexpr char kNarrowOutputs[] = "(narrow outputs)";
inline constexpr int kMaxNarrowRounds = 4;

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_
