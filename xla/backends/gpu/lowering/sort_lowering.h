#ifndef XLA_BACKENDS_GPU_LOWERING_SORT_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_SORT_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Sorts of rows, with everything sorted along, and the first elements of sorted
// rows (topk). Rows that fit into shared memory:
//
//   s = (f32[9,50], s32[9,50]) sort(x, iota), dimensions={1}
//   ->  for rows of a block, places that threads of the row share
//         keys[row][place] = x[row, place]    order[row][place] = place
//         sync
//         for each step of a bitonic network: pairs that are out of order
//           change places                     sync
//         out0[row, place] = keys[row][place]
//
// Merges begin with mirrored pairs, so that the lesser of a pair always moves
// to the lower place: places past the end of a row would hold the greatest
// elements and keep them, so they are left out. Of rows whose length is a power
// of two a thread takes up to three steps in registers, on up to eight elements
// as far apart as these steps' pairs, between two visits of shared memory.
//
// Equal elements keep their order, by the places they came from, whether the
// sort asks for it or not: the result is the one stable result, since
// comparators that are not an order are refused (comparator_order.h). Where
// elements are compared as they are and nothing goes along, equals are the same
// and need no places; zeros of both signs may then change places in a sort that
// does not ask for stability.
//
// Longer rows are sorted by ranks (sort_ranks.h).

namespace xla::gpu {

struct SortGroup {
  const HloInstruction* hero = nullptr;  // a sort or a topk
  std::vector<int64_t> results;          // by number
  int64_t rows = 1, elements = 1;        // of a row
};

// The sorts, and the results computed elementwise from theirs. No result is in
// two groups, or in a group if it is taken already.
std::vector<SortGroup> FindSortGroups(const KernelFrame& frame,
                                      const std::vector<bool>& taken);

// Emits this part of the kernel, and says whether it sorts in shared memory, of
// which a block may have `shared_bytes`, with the few that plans set aside.
// Unimplemented where the comparator is not known to be an order, where a sort
// is read at another place than the one written, where EmitSortByRanks refuses
// rows that are too long, and for what ElementEmitter cannot compute.
absl::StatusOr<bool> EmitSort(const SortGroup& group, int64_t shared_bytes,
                              KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_SORT_LOWERING_H_
