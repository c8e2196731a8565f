#ifndef XLA_HLO_EVALUATOR_BLOCK_SCALED_DOT_H_
#define XLA_HLO_EVALUATOR_BLOCK_SCALED_DOT_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The dimensions of a scaled product that frontends write as a custom call
//
//   custom-call(lhs, rhs, lhs_scale, rhs_scale),
//       custom_call_target="__op$block_scaled_dot"
//
// The last ones are contracted, and of three dimensions the first is a batch:
// f32[b,m,k] times f32[b,n,k] is f32[b,m,n]. nullopt for other instructions,
// and for operands of other ranks.
std::optional<DotDimensionNumbers> BlockScaledDotDimensions(
    const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_BLOCK_SCALED_DOT_H_
