#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_UPDATE_LAYOUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_UPDATE_LAYOUTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Lets buffers that are updated lie in memory as XLA:GPU wants the operands of
// dots, where they do not: batches, rows and columns each together, and not the
// batches innermost. The update is one of a copy then, and who else reads the
// result, reads a copy of it:
//
//   before: c = f32[16,2048,4,64]{3,2,1,0} parameter(0)     keys, by position
//           n = f32[16,2048,4,64]{3,2,1,0} dynamic-update-slice(c, k, …)
//           d = f32[16,4,4,2048] dot(q, n), rhs_batch_dims={0,2},
//                                           rhs_contracting_dims={3}
//   after:  t = f32[16,2048,4,64]{1,3,2,0} copy(c)
//           u = f32[16,1,4,64]{1,3,2,0} copy(k)
//           n = f32[16,2048,4,64]{1,3,2,0} dynamic-update-slice(t, u, …)
//           b = f32[16,4,64,2048]{3,2,1,0} bitcast(n)
//           d = f32[16,4,4,2048] dot(q, b), rhs_batch_dims={0,1},
//                                           rhs_contracting_dims={2}
//
// What is not updated needs no such copy: it is made as the dot reads it. This
// costs memory and time, and is for knowing what XLA takes.
//
// Leaves alone: what has control dependencies or a sharding.
// O(instructions).
class DotUpdateLayouts : public HloModulePass {
 public:
  absl::string_view name() const override { return "dot-update-layouts"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_UPDATE_LAYOUTS_H_
