#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_KEPT_EDGES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_KEPT_EDGES_H_

#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"

namespace xla::sharding_edges {

// Whether the tiles of the result are those of its operands, or of the first
// one, along all dimensions, whatever becomes of elements at the ends.
//
//   a f32[8] {devices=[4]<=[4]}    slice(a) f32[5], pad(a) f32[9],
//                                  concatenate(a, b): {devices=[4]<=[4]}
bool KeepsTiles(const HloInstruction& inst);

// Edges of such an instruction: what its operands imply for it, and what it
// asks of one of them.
std::vector<LeafSharding> KeptForward(const HloInstruction& inst,
                                      const Context& context,
                                      LeafReader reader);
void KeptBackward(const HloInstruction& user, int operand,
                  const Context& context, LeafReader reader,
                  std::vector<LeafSharding>* found);

}  // namespace xla::sharding_edges

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_KEPT_EDGES_H_
