#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_CANONICALIZE_ALL_GATHER_FOR_CSE_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_CANONICALIZE_ALL_GATHER_FOR_CSE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Gathers values before reshapes that only add or drop dimensions of size 1, so
// that all-gathers of one value under several such shapes become equal.
//
//   before: x = f32[4,8]; s = f32[1,4,8] reshape(x)
//           g = f32[1,8,8] all-gather(s), dimensions={1}
//   after:  h = f32[8,8] all-gather(x), dimensions={0}
//           g = f32[1,8,8] reshape(h)
//
// The new all-gather has a channel of its own. Leaves alone: several operands,
// a gathered dimension that had size 1 (its position among other dimensions of
// size 1 is ambiguous), constrained layouts, control dependencies.
// O(instructions).
class CanonicalizeAllGatherForCSE : public HloModulePass {
 public:
  CanonicalizeAllGatherForCSE() = default;
  ~CanonicalizeAllGatherForCSE() override = default;
  absl::string_view name() const override { return "canon-all-gather-for-cse"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_CANONICALIZE_ALL_GATHER_FOR_CSE_H_
