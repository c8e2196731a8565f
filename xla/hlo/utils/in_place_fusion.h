#ifndef XLA_HLO_UTILS_IN_PLACE_FUSION_H_
#define XLA_HLO_UTILS_IN_PLACE_FUSION_H_

#include <optional>

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla {

struct InPlaceFusionOptions {
  // In a producer that reads the buffer, count only the instructions on the
  // path of the buffer's elements, not every instruction that moves elements.
  bool relax_multiple_non_elementwise_ops = false;
};

// Whether `producer` may be fused into `consumer`, an operand of which is
// updated in place, without reading elements of it that are overwritten by
// then.
//
//   d = dynamic-slice(buffer, i)          fusible: the same elements
//   u = dynamic-update-slice(buffer, negate(d), i)
//
//   r = reverse(buffer)                   not: elements are read that other
//   u = dynamic-update-slice(buffer, r, i)    iterations have written
//
// Forbidden where the buffer is another operand of the consumer too, or where
// the producer, or what stands in it, reads the buffer otherwise than element
// by element. Exception: one slice or dynamic-slice that reads just what the
// consumer's only dynamic-update-slice into the buffer writes, at the same
// indices. Producers that do not read the buffer, or are the buffer, are
// allowed. O(operands + instructions in the producer).
FusionDecision ShouldFuseInPlaceOp(const HloInstruction* producer,
                                   const HloInstruction* consumer,
                                   const AliasInfo* alias_info,
                                   std::optional<const InPlaceFusionOptions>
                                       in_place_fusion_options = std::nullopt);

// Whether an update in place that gives the buffer which the consumer updates
// may be fused: only where both update the same elements.
//
//   u = dynamic-update-slice(buffer, x, i)    not: one kernel of both writes
//   v = dynamic-update-slice(u, y, j)             the whole buffer anew
//
// That may still pay off for many updates of a small buffer, which is for a
// cost model to say.
FusionDecision MayFuseUpdates(const HloInstruction* producer,
                              const HloInstruction* consumer,
                              const AliasInfo* alias_info);

}  // namespace xla

#endif  // XLA_HLO_UTILS_IN_PLACE_FUSION_H_
