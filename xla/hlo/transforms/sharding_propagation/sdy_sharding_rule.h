#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_SHARDING_RULE_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_SHARDING_RULE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

namespace xla {

// A rule as Shardy writes it; dimensions without factors are `[]` or `-`.
//
//   #sdy.op_sharding_rule<([ij, k])->([i, jk]) {i=2, j=4, k=4} reduction={k}>
//
// InvalidArgument with text and position: syntax, factors without a size, lists
// that contain a factor twice.
absl::StatusOr<OpShardingRule> ParseSdyShardingRule(absl::string_view text);

// The rule in an instruction's frontend attribute xla.sdy.sharding_rule, which
// overrides that of its opcode: this is how custom calls specify how they may
// be cut. nullopt without one. InvalidArgument names the instruction if the
// text is malformed or does not match operands and result.
absl::StatusOr<std::optional<OpShardingRule>> GivenShardingRule(
    const HloInstruction& inst);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_SDY_SHARDING_RULE_H_
