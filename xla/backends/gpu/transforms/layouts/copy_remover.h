#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_REMOVER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_REMOVER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Removes copies that change nothing: partitioners and frameworks leave them
// where a value changes hands, and they separate kernels that could fuse.
//
//   before: d = f32[8,8] dot(x, y)
//           c = f32[8,8] copy(d)
//           e = f32[8,8] exponential(c)
//   after:  e = f32[8,8] exponential(d)
//
// Values are never overwritten in HLO; a copy may be needed only once an order
// of instructions lets buffers share memory. So copies stay that may be there
// for this: in a module with a schedule, of parameters and of elements of
// tuples that are, in results of computations, in what loops, branches and
// calls start from. Leaves alone: other layouts or memory spaces, control
// dependencies, shardings. O(instructions + edges).
class CopyRemover : public HloModulePass {
 public:
  absl::string_view name() const override { return "copy-remover"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_REMOVER_H_
