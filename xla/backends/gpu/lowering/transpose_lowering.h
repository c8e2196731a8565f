#ifndef XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Transposes, and copies into another layout, by tiles: threads next to each
// other read next to each other, and write next to each other.
//
//   t = f32[100,70] transpose(f32[70,100] x), out = negate(t)
//   ->  for a tile of 32 x 32 places in each block
//         tile[row][column] = x[column, row]     neighbors along rows of t
//         sync
//         out[row, column] = -tile[row][column]  neighbors along columns
//
// Rows of the tile have one element of padding, so that no two lanes meet in a
// bank either way. Places past the end are read at the end and not written.

namespace xla::gpu {

struct TransposeGroup {
  std::vector<const HloInstruction*> heroes;  // none reads another
  std::vector<int64_t> results;               // by number
  // Dimensions of the heroes' results in which neighbors in memory differ: of
  // what is read, and of what is written.
  int64_t read_fast = 0, write_fast = 0;
};

// Those whose two dimensions have `min_extent` elements or more, and the
// results that are computed from theirs element by element. No result is in two
// of them, nor one that is taken.
std::vector<TransposeGroup> FindTransposeGroups(const KernelFrame& frame,
                                                int64_t min_extent,
                                                const std::vector<bool>& taken);

// The part of the kernel. Unimplemented where a transpose is read at another
// place than the one that is written, besides what ElementEmitter cannot
// compute.
absl::Status EmitTransposes(const TransposeGroup& group, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_
