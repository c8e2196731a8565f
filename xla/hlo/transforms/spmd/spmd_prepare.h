#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_PREPARE_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_PREPARE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::spmd {

// Splits scatters whose concatenated indices hide that each part enumerates a
// dimension and could stay where it is.
//
//   before: s = scatter(add(a, b), concatenate(i1, i2), concatenate(u1, u2)),
//           to_apply=add
//   after:  s1 = scatter(add(a, b), i1, u1), s = scatter(s1, i2, u2)
//
// where the concatenates are along a batch dimension of the indices, i1 and i2
// have the same dimension enumerated by an iota, and one of them is cut along
// it. A pass to run before spmd-partitioning; O(instructions).
class SpmdPrepare : public HloModulePass {
 public:
  SpmdPrepare() = default;
  ~SpmdPrepare() override = default;
  absl::string_view name() const override { return "spmd-prepare"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_PREPARE_H_
