#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_EDGES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_EDGES_H_

#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_edges.h"

namespace xla::sharding_edges {

// What the operands of a dot or convolution imply for it, the more important
// one first. A convolution whose spatial dimensions are whole is a dot;
// otherwise the result is tiled as the left operand if the kernel is small,
// else along the batch dimension alone.
//
//   lhs f32[8,4] {devices=[2,1,2]<=[4] last_tile_dim_replicate}
//   rhs f32[4,6] {devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
//   dot f32[8,6]: the first is what keeps the larger one in place, unless the
//   first user with a sharding asks for the other
std::vector<LeafSharding> ProductForward(const HloInstruction& inst,
                                         const Context& context,
                                         LeafReader reader);

// What a dot, or a convolution that is one, asks of an operand: batch and free
// dimensions as in the result, contracting ones as in the other operand.
void ProductBackward(const HloInstruction& user, int operand,
                     const Context& context, LeafReader reader,
                     std::vector<LeafSharding>* found);

}  // namespace xla::sharding_edges

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_PRODUCT_EDGES_H_
