#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_DIMENSION_MERGER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_DIMENSION_MERGER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Merges dimensions of dots that stand for the same: batches, what is
// contracted, and what is free in either operand.
//
//   before: d = f32[32,196,3072] dot(f32[32,196,768] x, f32[768,3072] w), …
//   after:  b = f32[6272,768] bitcast(x)
//           e = f32[6272,3072] dot(b, w), …
//           d = f32[32,196,3072] bitcast(e)
//
// What reads the same value as a dot is then read through a bitcast there,
// which is how XLA:GPU decides what to fuse.
//
// Leaves alone: dots where the dimensions of a kind do not lie in memory as one
// would, in both operands and the result; dynamic sizes, control dependencies,
// shardings and asynchronous computations. O(instructions).
class DotDimensionMerger : public HloModulePass {
 public:
  absl::string_view name() const override { return "dot-dimension-merger"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_DIMENSION_MERGER_H_
