#ifndef XLA_HLO_IR_HLO_CALLEE_SHARDING_H_
#define XLA_HLO_IR_HLO_CALLEE_SHARDING_H_

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_sharding.h"

// Internal to this folder.

namespace xla {

// Whether the root of `computation` may be sharded like that. The root of a
// loop's body is sharded as the loop and the parameters of its computations,
// that of a branch as the conditional and the roots of the other branches, as
// far as these have a sharding:
//
//   w = while(x), body=b, sharding={replicated}
//   b { p = parameter(0)                       // {replicated}: yes
//       ROOT n = negate(p) }                   // {maximal device=0}: no
bool MayShardRoot(const HloComputation& computation,
                  const HloSharding& sharding);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_CALLEE_SHARDING_H_
