#ifndef XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Transposes, and copies into another layout, by tiles: neighboring threads
// read neighboring elements and write neighboring elements.
//
//   t = f32[100,70] transpose(f32[70,100] x), out = negate(t)
//   ->  for a tile of 32 x 32 places in each block (64 x 64
//         where elements of less than four bytes fill enough of them)
//         tile[row][column] = x[column, row]     neighbors along rows of t
//         sync
//         out[row, column] = -tile[row][column]  neighbors along columns
//
// What is computed from the same values in their order, or moves their rows, is
// written on the way to the tile, so that they are read once.
//
// Rows of the tile are padded by four bytes, so that no two lanes hit the same
// bank either way. Reads past the end are clamped; nothing is written there.

namespace xla::gpu {

struct TransposeGroup {
  std::vector<const HloInstruction*> heroes;  // none reads another
  std::vector<int64_t> results;               // by number
  // Results without a transpose that are written where the first hero is read:
  // of values that it reads, and with neighbors where those have them.
  std::vector<int64_t> passed;
  // The dimensions of the heroes' results along which neighbors in memory lie,
  // where they are read and where they are written.
  int64_t read_fast = 0, write_fast = 0;
};

// Groups whose two dimensions have at least `min_extent` elements, and the
// results computed elementwise from theirs, or from what they read. No result
// is in two groups, or in a group if it is taken already.
std::vector<TransposeGroup> FindTransposeGroups(const KernelFrame& frame,
                                                int64_t min_extent,
                                                const std::vector<bool>& taken);

// Emits this part of the kernel. Unimplemented where a transpose is read at
// another place than the one written, and for what ElementEmitter cannot
// compute.
absl::Status EmitTransposes(const TransposeGroup& group, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_TRANSPOSE_LOWERING_H_
