#ifndef XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Reductions shared by threads, and what is computed from their results along
// the same rows. A row is the elements that are reduced to one element.
//
//   m = reduce-max(x), s = reduce-add(exp(x - broadcast(m)))
//   root = exp(x - broadcast(m)) / broadcast(s)
//   ->  stage 0: each thread takes the columns lane, lane + lanes, … of its row
//                to its maximum, and keeps them in registers if there are not
//                too many; the lanes of a row join theirs, those of a warp by
//                shuffles, others in shared memory
//       stage 1: the same for the sum, with m known, from what is kept
//       stage 2: the row is written, with m and s known
//
// If the reduced dimensions vary fastest in memory, the lanes of a row are
// neighbors ("row"); otherwise neighboring threads take neighboring elements of
// the result ("column"), so that reads are coalesced either way.
//
// Legal because reductions may be computed in any order. A reduction whose
// initial value must not be combined more than once starts from the first
// elements and applies the initial value at the end.

namespace xla::gpu {

// Reductions over the same dimensions of arrays of one shape, or of row-major
// arrays that are bitcasts of each other, and the results that their part of
// the kernel writes: those with as many elements as the reductions' operands or
// their results. Indices are those of the first one.
struct ReductionGroup {
  std::vector<const HloInstruction*> heroes;  // most dimensions first
  std::vector<int64_t> results;               // by number

  bool row = false;     // reduced dimensions are the fastest
  int64_t rows = 1;     // elements of a reduction's result
  int64_t columns = 1;  // elements of each row
};

// Groups with rows of at least `min_columns` elements, the one with most
// elements first. No result is in two groups, or in a group if it is taken
// already.
std::vector<ReductionGroup> FindReductionGroups(const KernelFrame& frame,
                                                int64_t min_columns,
                                                std::vector<bool> taken);

// Emits this part of the kernel. Lanes take several neighbors at once of rows
// along memory that have at least `min_vector_columns` elements, if their
// number divides the row; of rows across memory, see column_lowering.h.
// Unimplemented where a reduction is read outside of its row, and for what
// ElementEmitter cannot compute.
absl::Status EmitReductions(const ReductionGroup& group,
                            int64_t min_vector_columns, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_REDUCTION_LOWERING_H_
