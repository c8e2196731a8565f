#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_FLOAT_NORMALIZATION_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_FLOAT_NORMALIZATION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Avoids computing in floats of fewer than 16 bits, which GPUs only store,
// convert and multiply in matrices: elementwise arithmetic still reads and
// writes them, but is done in f32, and so is that of the computations that
// reductions apply.
//
//   before: f8e5m2[4] add(a, b)
//   after:  f8e5m2[4] convert(f32[4] add(f32[4] convert(a), f32[4] convert(b)))
//
// Each value is rounded where it was before. Leaves alone: instructions that
// move elements, select between them or convert them, dots, convolutions,
// collectives with the computations they apply, and fusions. O(instructions).
class FloatNormalization : public HloModulePass {
 public:
  absl::string_view name() const override { return "float-normalization"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_FLOAT_NORMALIZATION_H_
