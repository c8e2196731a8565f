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
//         copy the factors of steps 0 and 1 to stages 0 and 1
//         for each step of 16 contracted places
//           wait for its copies, sync
//           copy the factors of step + 2 to stage (step + 2) % 3
//           sums += left[step % 3] * right[step % 3]     a part per warp
//         out = sums                                where the place exists
//
// So two steps are on their way while the units multiply, no registers hold
// them, and one barrier per step is enough. A factor that the kernel computes,
// or that is not there as aligned chunks of 16 bytes, takes the way through
// registers: read before the products of the step before, written to its stage
// behind them. What is behind the end of an operand, or outside of a window, is
// zero.
//
// Where the depth is the fastest dimension of an operand in memory, it lies in
// shared memory as place by place, and a lane reads its part of a fragment's
// row as one vector:
//
//   left[stages][places][depth]
//
// Otherwise neighbors are of different places, and so they are there:
//
//   left[stages][depth][places + 8 words]
//
// the element v of what lane t has of a row's depth in row 4*v + t, so that the
// lanes of a warp, which differ in place and t, read from different banks.
// Blocks of the units interleave their places: a lane's places of up to a
// vector's blocks are neighbors, which it reads, and in results writes, at
// once.

namespace xla::gpu {

// Nothing if the units cannot or need not compute these products.
std::optional<MatrixTile> FindMatrixTile(const DotGroup& group,
                                         const KernelFrame& frame);

// As EmitDots.
absl::Status EmitMatrixProducts(const DotGroup& group, const MatrixTile& tile,
                                int64_t shared_bytes, KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MATRIX_LOWERING_H_
