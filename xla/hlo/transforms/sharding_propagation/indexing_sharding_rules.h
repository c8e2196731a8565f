#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_INDEXING_SHARDING_RULES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_INDEXING_SHARDING_RULES_H_

#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

namespace xla {

// Rules of instructions that read or write at indices. A dimension that indices
// enumerate (an iota), or that is a batching dimension, is one factor of
// operand, indices and result:
//
//   f32[8,4] operand, s32[8,1] indices = iota → f32[8,4]
//       ([i,j],[i,-])->([i,j]) {i=8,j=4}
//
// `calls`: to look through parameters for iotas; may be null.
OpShardingRule GatherShardingRule(const HloInstruction& gather,
                                  const CallGraph* calls);
// If only indices are cut, the results are partial sums of updates.
OpShardingRule ScatterShardingRule(const HloInstruction& scatter,
                                   const CallGraph* calls);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_INDEXING_SHARDING_RULES_H_
