#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_attributes.h"

namespace xla {

// Rewrites what Shardy calls manual computations (JAX: shard_map) as manual
// regions, which partitioners support:
//
//   before: l = f32[4] custom-call(x), "xla.sdy.GlobalToLocalShape",
//                                     in_shardings [{"a"}], manual_axes {"a"}
//           r = f32[4] call(l), to_apply=xla.sdy.manual_computation_body
//           y = f32[8] custom-call(r), "xla.sdy.LocalToGlobalShape", ...
//   after:  c = f32[8] custom-call(x), "Sharding", sharding=[{"a"}]
//           l = f32[4] custom-call(c), "SPMDFullToShardShape", manual={"a"}
//           r = f32[4] call(l), ...
//           m = f32[4] custom-call(r), "Sharding", manual={"a"}
//           y = f32[8] custom-call(m), "SPMDShardToFullShape", sharding=[{"a"}]
//
// Shardings inside a body, which name only the other axes, become manual along
// these; if all axes of the mesh are manual, {manual}. Bodies may contain
// manual computations along further axes. Instructions between annotations, and
// open dimensions of values that enter and leave, are left to propagation.
//
// InvalidArgument names the instruction if attributes are malformed or missing,
// or if counts of shardings or shapes of shards do not match.
absl::Status ImportManualComputations(HloModule* module,
                                      const SdyMeshes& meshes);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_
