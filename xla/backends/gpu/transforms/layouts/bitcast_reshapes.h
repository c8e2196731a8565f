#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_BITCAST_RESHAPES_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_BITCAST_RESHAPES_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Turns reshapes and transposes that leave every element where it is in memory
// into bitcasts: otherwise they would be kernels that copy, and their results
// would have buffers of their own.
//
//   before: r = f32[8,56,56,256]{3,2,1,0} reshape(f32[8,56,56,32,8] x)
//   after:  r = f32[8,56,56,256]{3,2,1,0} bitcast(x)
//
// Leaves alone: those inside of fusions, where they cost nothing; shapes
// without layouts or with dynamic dimensions; control dependencies. Keeps a
// schedule. O(instructions).
class BitcastReshapes : public HloModulePass {
 public:
  absl::string_view name() const override { return "bitcast-reshapes"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_BITCAST_RESHAPES_H_
