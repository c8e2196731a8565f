#ifndef XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Reductions that threads share, and what is computed with their results along
// the same rows. A row is what one element of a reduction's result is made of.
//
//   m = reduce-max(x), s = reduce-add(exp(x - broadcast(m)))
//   root = exp(x - broadcast(m)) / broadcast(s)
//   ->  stage 0: each thread takes the columns lane, lane + lanes, … of its row
//                to its maximum; the lanes of a row join theirs in shared
//                memory, halves to halves
//       stage 1: the same for the sum, with m known
//       stage 2: the row is written, with m and s known
//
// Where the reduced dimensions are the fastest in memory, lanes of a row are
// neighbors ("row"); else neighbors are elements of the result ("column"), so
// that threads read next to each other either way.
//
// Legal because reductions may be computed in any order; a reduction whose
// initial value may not be taken more than once begins with first elements and
// takes it at the end.

namespace xla::gpu {

// Reductions over the same dimensions of arrays of one shape, and the results
// that the part of the kernel with them writes: of the shape of the reductions'
// operands or of their results, as far as the number of elements goes.
struct ReductionGroup {
  std::vector<const HloInstruction*> heroes;  // operands first
  std::vector<int64_t> results;               // by number

  bool row = false;     // reduced dimensions are the fastest
  int64_t rows = 1;     // elements of a reduction's result
  int64_t columns = 1;  // elements of each row
};

// Those of at least `min_columns` elements a row; the one with most elements
// first. No result is in two of them, nor one that is taken.
std::vector<ReductionGroup> FindReductionGroups(const KernelFrame& frame,
                                                int64_t min_columns,
                                                std::vector<bool> taken);

// The part of the kernel. Rows along memory of at least `min_vector_columns`
// elements are taken several neighbors a lane at once, if the number divides
// them. Unimplemented where a reduction is read out of its row, besides what
// ElementEmitter cannot compute.
absl::Status EmitReductions(const ReductionGroup& group,
                            int64_t min_vector_columns, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_
