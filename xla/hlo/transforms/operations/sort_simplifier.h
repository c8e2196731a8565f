#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_SORT_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_SORT_SIMPLIFIER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Removes operands from sorts that neither the comparison nor any reader of the
// sort uses.
//
//   before: s = (f32[8], s32[8]) sort(k, v), to_apply=less(k0, k1, v0, v1)
//           get-tuple-element(s), index=0
//   after:  f32[8] sort(k), to_apply=less'(k0, k1)
//
// A sort along a dimension of size 1 is replaced with its operands. Legal
// because the order does not depend on operands that the comparison does not
// read. Leaves alone: sorts whose result is used as a whole, and control
// dependencies. O(instructions).
class SortSimplifier : public HloModulePass {
 public:
  absl::string_view name() const override { return "simplify-sorts"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_SORT_SIMPLIFIER_H_
