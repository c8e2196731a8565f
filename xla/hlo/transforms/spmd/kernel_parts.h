#ifndef XLA_HLO_TRANSFORMS_SPMD_KERNEL_PARTS_H_
#define XLA_HLO_TRANSFORMS_SPMD_KERNEL_PARTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/convolution_handler.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {

// Along one spatial dimension, the elements of the kernel that devices have:
// `size` from start[ordinal] on. Those before 0 and beyond `whole` are zeros.
struct KernelShards {
  int64_t spatial_dim;
  int64_t rhs_dim;
  int64_t whole;
  int64_t size;
  std::vector<int64_t> start;
};

// The convolution of shards in which zeros of the kernel may meet elements of
// the left operand: if those are infinite or NaN, a product with zero is NaN.
// So the part of the kernel that only some devices have is a separate
// convolution, for which the others have zeros on both sides.
//
//   a kernel of 5 on 2 devices, 3 and 2 elements and a zero:
//       convolution(x, kernel[0:2]) +
//       convolution(select(device is 0, x, 0), kernel[2:3])
//
// Integers, and kernels of which devices have whole parts, stay in one. If the
// kernel moves to shards of the left operand, there may be as many parts as
// tiles: with more than 4 along a dimension, convolution_handler.cc moves the
// left operand instead, which takes at most 2.
absl::StatusOr<HloInstruction*> ConvolveByKernelParts(
    const PartitionedHlo& lhs, const PartitionedHlo& rhs,
    absl::Span<const KernelShards> shards, const Window& window,
    const CreateShardedConvolutionFunctor& create_sharded_conv);

// An upper bound on the number of parts along one dimension.
int64_t MostKernelParts(const KernelShards& shards, PrimitiveType type);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_KERNEL_PARTS_H_
