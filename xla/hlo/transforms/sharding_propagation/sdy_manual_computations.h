#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_attributes.h"

namespace xla {

// Writes what Shardy calls manual computations (JAX: shard_map) as manual
// regions, which partitioners know:
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
// Shardings inside a body, which name the other axes only, become manual along
// these; where all axes of the mesh are manual, {manual}. Bodies may hold
// manual computations along further axes. What stands between annotations, and
// open dimensions of values that enter and leave, is left to propagation.
//
// InvalidArgument names the instruction: attributes that are malformed or
// missing, counts of shardings and shapes of shards that do not fit.
absl::Status ImportManualComputations(HloModule* module,
                                      const SdyMeshes& meshes);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_MANUAL_COMPUTATIONS_H_
