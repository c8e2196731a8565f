#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DIMENSION_GROUPER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DIMENSION_GROUPER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct ReductionDimensionGrouperOptions {
  bool kept = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("kept", kept, "merge dimensions that are kept, too");
  }
};

// Merges neighboring dimensions that are all reduced, or all kept, into one.
//
//   before: r = f32[2,3] reduce(f32[2,3,4,5] a, 0), dimensions={2,3}
//   after:  b = f32[6,20] bitcast(a)
//           s = f32[6] reduce(b, 0), dimensions={1}
//           r = f32[2,3] bitcast(s)
//
// Operands are in row-major layout (reduction_layout_normalizer.h); others are
// left alone. With kept=false, as OpenXLA's, which the default constructor
// makes, only reduced dimensions are merged: s = f32[2,3] reduce(f32[2,3,20]
// b).
class ReductionDimensionGrouper : public HloModulePass {
 public:
  ReductionDimensionGrouper() { options_.kept = false; }
  explicit ReductionDimensionGrouper(
      const ReductionDimensionGrouperOptions& options)
      : options_(options) {}

  absl::string_view name() const override {
    return "reduction-dimension-grouper";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ReductionDimensionGrouperOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_DIMENSION_GROUPER_H_
