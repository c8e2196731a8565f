#ifndef XLA_BACKENDS_GPU_LOWERING_DOT_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_DOT_LOWERING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Matrix products by tiles: a block computes a tile of the result and reads its
// operands through shared memory.
//
//   d = f32[70,50] dot(x, y), rhs = f32[70,50] negate(d)
//   ->  for a tile of 16 x 16 places in each block
//         sums = 0
//         for 32 of the contracted places at a time
//           left[32][16] = x, right[32][16] = y     all threads; 0 past the end
//           sync
//           sums += left[k][row] * right[k][column]  each thread its places
//           sync
//         out = -sums                               where the place exists
//
// An element of an operand is computed once per tile, whatever the operand is
// computed from, and read from memory in the order in which it lies there;
// tiles that this fills across their rows are padded by one element per row, so
// that no two lanes hit the same bank. The places of a thread are as far apart
// as there are threads in that direction, so that neighboring threads read and
// write neighboring elements. If a tile has fewer places than the block has
// threads, threads take different contracted places of one sum and combine
// their sums in shared memory.
//
// A convolution whose features all belong together is such a product
// (dot_shape.h); places outside its input count as zeros.
//
// Several products of the same extents whose results are combined are summed
// one after the other by the same threads; the shared memory of the first is
// free by then.

namespace xla::gpu {

struct DotGroup {
  std::vector<const HloInstruction*> heroes;  // none reads another
  std::vector<int64_t> results;               // by number
  int64_t batch = 1, rows = 1, columns = 1;   // of the products
};

// Groups of products of at least `min_depth` contracted places, and the results
// computed elementwise from them. No result is in two groups, or in a group if
// it is taken already.
std::vector<DotGroup> FindDotGroups(const KernelFrame& frame, int64_t min_depth,
                                    const std::vector<bool>& taken);

// Emits this part of the kernel, by matrix units with up to `shared_bytes` of
// shared memory. Unimplemented where a product is read at
// another place than the one written, and for what ElementEmitter cannot
// compute.
absl::Status EmitDots(const DotGroup& group, int64_t shared_bytes,
                      KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_DOT_LOWERING_H_
