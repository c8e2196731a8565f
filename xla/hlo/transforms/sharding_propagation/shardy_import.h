#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_IMPORT_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_IMPORT_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Converts Shardy's frontend attributes to named shardings, so that later
// passes read one kind of annotation.
//
//   before: HloModule m, frontend_attributes={
//             xla.sdy.meshes={mesh = #sdy.mesh<["a"=2]>}}
//           p = f32[8] parameter(0), frontend_attributes={
//             xla.sdy.sharding="#sdy.sharding<@mesh, [{\"a\", ?}]>"}
//   after:  HloModule m
//           p = f32[8] parameter(0), sharding={mesh['a'=2], [{'a', ?}]}
//
// A module without Shardy's attributes is left alone. In one that has them,
// shardings in `sharding=` are ignored and removed, except at infeed, outfeed,
// send and recv; FuncResultSharding becomes `Sharding`, whose unspecified_dims
// are opened; manual computations become manual regions
// (sdy_manual_computations.h); a sharding group becomes `Sharding` calls with
// {unknown shard_as ID} between the members and their users; a propagation
// barrier becomes ShardBarrierFrom, ShardBarrierTo or both. Priorities of
// dimensions go into the frontend attribute sharding_priorities. The module's
// xla.sdy.tuple_args_shardings and tuple_results_shardings, lists of one
// sharding per leaf, override those of entry parameters and root.
// xla.sdy.import_mhlo_shardings keeps `sharding=` on instructions without a
// Shardy attribute. O(instructions).
//
// InvalidArgument names the instruction and the text for malformed attributes,
// unknown meshes and axes, ranks and numbers of shardings that do not match,
// sharding groups of different shapes, and borders of manual regions
// (SPMDFullToShardShape, SPMDShardToFullShape) that would lose `sharding=`.
class ShardyImport : public HloModulePass {
 public:
  absl::string_view name() const override { return "shardy-import"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SHARDY_IMPORT_H_
