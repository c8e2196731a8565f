#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Puts the dimensions of a reduction's operand into memory order, as kernels
// expect them.
//
//   before: r = f32[8]{0} reduce(f32[8,4]{0,1} a, 0), dimensions={1}
//   after:  b = f32[4,8]{1,0} bitcast(a)
//           r = f32[8]{0} reduce(b, 0), dimensions={0}
//
// Moves nothing, except for a copy of the result if its layout differs from
// that of its operand. Operands of a variadic reduction whose layout differs
// from the first operand's are copied.
class ReductionLayoutNormalizer : public HloModulePass {
 public:
  absl::string_view name() const override {
    return "reduction-layout-normalizer";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_
