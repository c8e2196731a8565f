#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/hlo/ir/hlo_computation.h"

namespace xla::gpu {

// Lets a kernel that has a value at hand write what a later kernel wants of it,
// if that is smaller.
//
//   before: y = f32[n] fusion(x): maximum(x, 0)
//           …
//           d = f32[n] fusion(x, g): select(x > 0, g, 0)
//   after:  (y, m) = (f32[n], pred[n]) fusion(x): maximum(x, 0), x > 0
//           …
//           d = f32[n] fusion(m, g): select(m, g, 0)
//
// Of 4 bytes an element that d read, 1 is left, and 1 is written. What may move
// is found by mof_narrow_parts.h; equal values of several kernels become one
// output. It goes to a kernel that makes or reads all of the large operands, of
// those the one that saves the most: the first such in post order; all its
// readers come later there, so that no cycle closes. The two must fit together
// as any two that are fused (gpu_fusible.h: loops, budgets), move fewer bytes
// with what reads the value, and take no more time by the model. A result of
// the kernel that nobody else reads any more goes.
//
// Rounds until nothing is left to do, at most kMaxNarrowRounds; the most bytes
// first. O(instructions * kMaxNarrowChain) for a round and O(size) of the two
// kernels for an output.
//
// Leaves alone: custom fusions, roots, updates in place, control dependencies,
// and all if the context bans kNarrowOutputs. Adds to `groups` (null: to none)
// a member of that name for each kernel that has got an output, and keeps those
// that are there up to date. Returns the number of outputs.
absl::StatusOr<int64_t> AddNarrowOutputs(HloComputation* computation,
                                         const MofContext& context,
                                         std::vector<FusionGroup>* groups);

inline constexpr char kNarrowOutputs[] = "(narrow outputs)";
inline constexpr int kMaxNarrowRounds = 4;

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_OUTPUTS_H_
