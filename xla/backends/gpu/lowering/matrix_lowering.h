#ifndef XLA_BACKENDS_GPU_LOWERING_MATRIX_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_MATRIX_LOWERING_H_

#include <optional>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/dot_lowering.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/matrix_tile.h"

// Products by matrix units, of f16, bf16 or f32, with sums of f32.
//
//   d = f32[100352,64] dot(x, y)
//   ->  for a tile of 128 x 64 places in each block
//         sums = 0                                  fragments of each warp
//         x's and y's elements at 16 of the contracted places into registers,
//           from there to left0, right0
//         sync
//         for each further 32 of them
//           the next elements into registers    all threads
//           sums += left0 * right0              a part of the tile per warp
//           the elements to left1, right1
//           sync
//           the same with 0 and 1 the other way round
//         sums += the last
//         out = sums                                where the place exists
//
// So loads are on the way while the units multiply, and one barrier per step
// is enough. Where the depth is the fastest dimension of an operand in memory,
// it lies in shared memory as place by place, and a lane reads its part of a
// fragment's row as one vector:
//
//   left0[places][depth]
//
// Otherwise neighbors are of different places, and words lie as
//
//   left0[words of depth][places + 8][elements of a word]
//
// the word 4*t + v in row 4*v + t, so that the lanes of a warp, which differ in
// place and t, read from different banks. Either way threads read and write 16
// bytes at once where operands allow it. What is behind the end of an operand,
// or outside of a window, is zero.

namespace xla::gpu {

// Nothing if the units cannot or need not compute these products.
std::optional<MatrixTile> FindMatrixTile(const DotGroup& group,
                                         const KernelFrame& frame);

// As EmitDots.
absl::Status EmitMatrixProducts(const DotGroup& group, const MatrixTile& tile,
                                KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MATRIX_LOWERING_H_
