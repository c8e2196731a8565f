#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DEGENERATE_DIM_REMOVER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DEGENERATE_DIM_REMOVER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Removes dimensions of size 1 from reductions.
//
//   before: r = f32[1,4] reduce(f32[1,8,1,4] a, 0), dimensions={1,2}
//   after:  b = f32[8,4] bitcast(a)
//           s = f32[4] reduce(b, 0), dimensions={0}
//           r = f32[1,4] bitcast(s)
//
// Variadic ones too. A reduction of such dimensions only, from the value that
// its combiner does not change (0 of a sum), goes:
//
//   before: r = f32[8,4] reduce(f32[8,1,4] a, 0), dimensions={1}, to_apply=add
//   after:  r = f32[8,4] bitcast(a)
//
// Legal because it combines each element with that value; of a sum, the zeros
// of `a` keep their signs. Others of such dimensions only are left alone.
class ReductionDegenerateDimRemover : public HloModulePass {
 public:
  absl::string_view name() const override {
    return "reduction-degenerate-dim-remover";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DEGENERATE_DIM_REMOVER_H_
