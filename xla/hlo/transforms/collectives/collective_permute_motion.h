#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_PERMUTE_MOTION_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_PERMUTE_MOTION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Moves a permute from the end of a loop's body to its beginning, where the
// rest of the body can hide it.
//
//   before: body: x = s[1]; y = g(x); p = collective-permute(y)
//                 ROOT (i + 1, f(p))
//   after:  body: s1 = s[1]; p = collective-permute(s1)
//                 x = i == initial i ? s1 : f(p); y = g(x)
//                 ROOT (i + 1, y)
//
// f: at most 8 elementwise instructions with one use each, whose other operands
// do not change in the loop. Legal if nothing else reads the element: one
// get-tuple-element in the body, none in the condition or after the loop; and
// if the first iteration can be recognized: some scalar integer has a constant
// initial value, and each iteration adds a constant to it that does not bring
// it back to that value before the loop ends (with an unknown number of
// iterations: 1 or -1 on 32 bits or more). Permutes stay unique, so channels
// stay. O(instructions).
class CollectivePermuteMotion : public HloModulePass {
 public:
  CollectivePermuteMotion() = default;
  absl::string_view name() const override {
    return "collective-permute-motion";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_PERMUTE_MOTION_H_
