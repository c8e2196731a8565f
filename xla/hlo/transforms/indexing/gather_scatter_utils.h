#ifndef XLA_HLO_TRANSFORMS_INDEXING_GATHER_SCATTER_UTILS_H_
#define XLA_HLO_TRANSFORMS_INDEXING_GATHER_SCATTER_UTILS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Instructions are added to the computation of their operand. All results are
// in row-major layout; an operand that is not is copied before a reshape.

// The operand itself if the permutation changes nothing, else its transpose:
// dimension i of the result is dimension permutation[i] of the operand.
HloInstruction* MaybeTranspose(HloInstruction* operand,
                               absl::Span<const int64_t> permutation);

// The operand itself if it has these sizes, else a reshape.
HloInstruction* MaybeReshape(HloInstruction* operand,
                             absl::Span<const int64_t> sizes);

// Index vectors in rows:
//
//   before: s32[2,3,5], index_vector_dim=1     after: s32[10,3]
//           s32[2,5], index_vector_dim=2              s32[10,1]
HloInstruction* TransformStartIndices(HloInstruction* indices,
                                      int64_t index_vector_dim);

// Index vectors that begin with the positions of their own batches:
//
//   before: s32[4,2], index_vector_dim=1, batching_dims={0}
//   after:  s32[4,3], where [i,0] = i
//
// Types that cannot hold the positions become s32 or s64. index_vector_dim may
// be the rank: then each index is a vector of one, and its dimension is last.
HloInstruction* PrependBatchIndices(HloInstruction* indices,
                                    absl::Span<const int64_t> batching_dims,
                                    int64_t index_vector_dim);

// For an operand of `rank` dimensions of which indices name dim_map: the
// permutation that brings those to the front, in the order of dim_map, and its
// inverse.
std::pair<std::vector<int64_t>, std::vector<int64_t>>
MakeOperandStartIndexPermutations(absl::Span<const int64_t> dim_map,
                                  int64_t rank);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_INDEXING_GATHER_SCATTER_UTILS_H_
