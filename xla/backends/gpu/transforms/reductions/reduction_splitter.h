#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_SPLITTER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_SPLITTER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct ReductionSplitterOptions {
  // The smallest size of a dimension that is reduced first; a shorter one is
  // left to a single thread.
  int64_t min_size = 32;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit(
        "min-size", min_size,
        "smallest size of a dimension that is reduced in a kernel of its own");
  }
};

// Splits a reduction of dimensions with others between them, the longest one
// first: blocks of threads share the work of a row or of columns, while
// otherwise each thread reduces all elements of a result.
//
//   before: r = f32[8,32] reduce(f32[8,3136,32,8] a, 0), dimensions={1,3}
//   after:  s = f32[8,32,8] reduce(a, 0), dimensions={1}
//           r = f32[8,32] reduce(s, 0), dimensions={2}
//
// Legal because reductions are associative and commutative by definition, and
// the initial value may be combined several times (InitMayRepeat). Reductions
// are in the form that reduction_dimension_grouper.h leaves: neighbors are one
// dimension. Leaves alone: other and variadic reductions, those without a long
// dimension, and those with control dependencies.
class ReductionSplitter : public HloModulePass {
 public:
  explicit ReductionSplitter(ReductionSplitterOptions options = {})
      : options_(options) {}
  // OpenXLA's signature: whether dimensions of up to 8 elements are short.
  explicit ReductionSplitter(bool ignore_small_dims)
      : options_{/*min_size=*/ignore_small_dims ? 9 : 1} {}

  absl::string_view name() const override { return "reduction-splitter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ReductionSplitterOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_SPLITTER_H_
