#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_LAYOUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_LAYOUTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Copies operands of large dots that lie in memory as no library call takes
// them (library_dot.h), where one copy, or one of each, makes them so. The copy
// is for fusion to merge into the kernel that makes the operand.
//
//   before: x = f32[32,196,12,64]{3,1,2,0} …    the 12 and the 64 are apart
//           d = f32[32,196,768] dot(x, w), lhs_contracting_dims={2,3}, …
//   after:  c = f32[32,196,12,64]{3,2,1,0} copy(x)
//           d = f32[32,196,768] dot(c, w), lhs_contracting_dims={2,3}, …
//
// A kernel of our own, which takes any layout, reaches a third of the library's
// speed at best (f32), and a thirtieth where the library has matrix units for
// it (bf16). So a copy has to pay: there are 16 multiplications or more for
// each byte that it moves. Results keep their layouts.
//
// An operand that is itself a copy in another layout is replaced by what that
// copied, if it lies as needed, or else by a copy of it.
//
// Other dots that read the same value, or the same copy of it, read the new
// copy, too, unless that would cost them a library call they have. If dots are
// all of its readers, the kernel that makes the value writes it as copied,
// once. A dot may then need a copy of its other operand, so there are up to
// kMaxDotRounds rounds. O(instructions + dots * readers of their operands).
class DotLayouts : public HloModulePass {
 public:
  absl::string_view name() const override { return "dot-layouts"; }

  static constexpr int kMaxDotRounds = 3;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_LAYOUTS_H_
