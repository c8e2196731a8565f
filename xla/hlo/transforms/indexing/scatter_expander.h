#ifndef XLA_HLO_TRANSFORMS_INDEXING_SCATTER_EXPANDER_H_
#define XLA_HLO_TRANSFORMS_INDEXING_SCATTER_EXPANDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Replaces scatters of a single window with in-place updates.
//
//   before: s = f32[8,8] scatter(p, s32[1,2] i, f32[1,1,1] u), to_apply=add, …
//   after:  o = f32[1,1] dynamic-slice(p, i[0], i[1])
//           n = f32[1,1] add(o, f32[1,1] reshape(u))
//           s = f32[8,8] dynamic-update-slice(p, n, i[0], i[1])
//
// A window that does not lie within the operand changes nothing: unless the
// indices are constants, `n` becomes select(in bounds, n, o). Legal because a
// single window cannot collide with another one. Such an update fuses with the
// producer of `u` and the readers of the result, and needs no atomic
// operations.
//
// For scatters as scatter-simplifier leaves them, with one index vector of s32
// or s64, one operand, and an update computation of elementwise instructions.
// O(instructions of the update computation) per scatter.
class ScatterExpander : public HloModulePass {
 public:
  absl::string_view name() const override { return "scatter-expander"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_INDEXING_SCATTER_EXPANDER_H_
