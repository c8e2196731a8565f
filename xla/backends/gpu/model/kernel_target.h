#ifndef XLA_BACKENDS_GPU_MODEL_KERNEL_TARGET_H_
#define XLA_BACKENDS_GPU_MODEL_KERNEL_TARGET_H_

#include <string>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Whose code generators write the kernels. What they cannot write differs:
//
//   kernel     kXla                               kOwn (lowering/)
//   rows kept  no clz, is-finite, logistic, map,  all of these
//   in tiles   popcnt, round-nearest-afz, shifts,
//              sign, powers of integers
//   reduction  no result in other dimensions, or  both: threads that reduce a
//              computed with other values,        row write what a loop would
//              beside one of a loop               of its elements
//
// Neither keeps rows of rng or stochastic-convert. Our own compute some opcodes
// of some types only (reduce-precision): fusion leaves others alone.
enum class KernelTarget { kXla, kOwn };

// xla, own.
bool AbslParseFlag(absl::string_view text, KernelTarget* target,
                   std::string* error);
std::string AbslUnparseFlag(KernelTarget target);

// Whether programs of tiles compute this elementwise instruction.
bool IsComputedInTiles(const HloInstruction& hlo, KernelTarget target);

// Whether a reduction's result that is reshaped, or computed with other values,
// shares a kernel with what a loop makes of the reduction's operands.
inline bool ReductionEpiloguesJoinLoops(KernelTarget target) {
  return target == KernelTarget::kOwn;
}

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_KERNEL_TARGET_H_
