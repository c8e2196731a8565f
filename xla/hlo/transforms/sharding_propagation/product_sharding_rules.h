#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_SHARDING_RULES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_SHARDING_RULES_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The rule of a dot, or of the values of a scaled one: the partitioner lets the
// scales go with those. A dimension that is summed up is a reduction factor.
//
//   f32[8,4] lhs, f32[4,16] rhs → f32[8,16]
//       ([i,k],[k,j])->([i,j]) {i=8,j=16,k=4} reduction={k}
OpShardingRule DotShardingRule(const HloInstruction& product,
                               const DotDimensionNumbers& dims);
// nullopt where operands are sparse. Dimensions along which windows slide have
// a factor where windows are small beside the input, or as large as it.
std::optional<OpShardingRule> ConvolutionShardingRule(
    const HloInstruction& conv);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_SHARDING_RULES_H_
