#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_RESHAPE_MOVER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_RESHAPE_MOVER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct ReshapeMoverOptions {
  // A broadcast of one dimension may be recreated in the other shape, which
  // takes a reshape of the broadcast.
  bool reshape_of_1d_broadcast_is_cheap = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("reshape-of-1d-broadcast-is-cheap", reshape_of_1d_broadcast_is_cheap,
          "also where an operand is a broadcast of one dimension");
  }
};

// Moves reshapes and transposes down past elementwise instructions, where they
// meet others and become fewer.
//
//   before: a = f32[8,4] reshape(x), b = f32[8,4] reshape(y), x and y f32[32]
//           c = f32[8,4] add(a, b)
//   after:  d = f32[32] add(x, y)
//           c = f32[8,4] reshape(d)
//
// Legal because an elementwise instruction treats each element alike wherever
// it is. An instruction takes part if its operands are rearranged alike, by an
// earlier instruction that takes part or by a reshape or a transpose, of which
// there is at least one; or are constants, rearranged or not, and broadcasts,
// which are recreated in the other shape. A reshape or transpose with other
// readers would stay, so its readers do, too. Transposes do not move if more of
// them would be needed after than before (those of constants do not count).
//
// Leaves alone: scalars, dynamic shapes, control dependencies, shardings,
// copies, calls and random numbers. O(instructions + edges).
class ReshapeMover : public HloModulePass {
 public:
  explicit ReshapeMover(
      const ReshapeMoverOptions& options = ReshapeMoverOptions())
      : options_(options) {}

  absl::string_view name() const override { return "reshape-mover"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ReshapeMoverOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_RESHAPE_MOVER_H_
