#ifndef XLA_HLO_TRANSFORMS_INDEXING_SELECT_AND_SCATTER_EXPANDER_H_
#define XLA_HLO_TRANSFORMS_INDEXING_SELECT_AND_SCATTER_EXPANDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Expands select-and-scatter into a reduce-window that finds positions and a
// scatter to these positions, for backends that have no kernel for it.
//
//   before: s = f32[8] select-and-scatter(p, u, z), window={size=2 stride=2},
//             select=ge, scatter=add
//   after:  i = s32[8] iota(), iota_dimension=0
//           w = (f32[4], s32[4]) reduce-window(p, i, z, -1), to_apply=pick
//           b = f32[8] broadcast(z)
//           s = f32[8] scatter(b, reshape(w.1), u), to_apply=add
//
// `pick` keeps the earlier of two elements while `select` says so, and yields
// where the position is -1, which stands for padding and for no element so far.
// A window of nothing but padding yields -1, and scatters to positions out of
// bounds change nothing. Values are those of select-and-scatter, except for the
// order of updates where windows overlap, which is the scatter's.
//
// With n dimensions, this takes n iotas of the operand's size and n + 1 results
// of the windows' size, which dominate the memory. O(rank + size of `select`)
// instructions each.
//
// Leaves alone: dynamic or empty shapes, dimensions of 2^31 or more, those with
// shardings or control dependencies, and a `select` that calls computations.
class SelectAndScatterExpander : public HloModulePass {
 public:
  absl::string_view name() const override {
    return "select-and-scatter-expander";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_INDEXING_SELECT_AND_SCATTER_EXPANDER_H_
