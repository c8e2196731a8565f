#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct ReductionLayoutNormalizerOptions {
  bool row_major = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("row-major", row_major,
          "also put the dimensions of results into memory order");
  }
};

// Puts the dimensions of a reduction's operand into memory order, as kernels
// expect them.
//
//   before: r = f32[8]{0} reduce(f32[8,4]{0,1} a, 0), dimensions={1}
//   after:  b = f32[4,8]{1,0} bitcast(a)
//           r = f32[8]{0} reduce(b, 0), dimensions={0}
//
// Moves nothing, except for a copy of the result if its layout differs from
// that of its operand. Operands of a variadic reduction whose layout differs
// from the first operand's are copied. With row_major=false, as OpenXLA's,
// which the default constructor makes, results are written where they lay
// instead of copied:
//
//   before: r = f32[5,6]{1,0} reduce(f32[5,6,4]{0,1,2} a, 0), dimensions={2}
//   after:  b = f32[4,6,5]{2,1,0} bitcast(a)
//           s = f32[6,5]{0,1} reduce(b, 0), dimensions={0}
//           r = f32[5,6]{1,0} bitcast(s)
class ReductionLayoutNormalizer : public HloModulePass {
 public:
  ReductionLayoutNormalizer() { options_.row_major = false; }
  explicit ReductionLayoutNormalizer(
      const ReductionLayoutNormalizerOptions& options)
      : options_(options) {}

  absl::string_view name() const override {
    return "reduction-layout-normalizer";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ReductionLayoutNormalizerOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_LAYOUT_NORMALIZER_H_
