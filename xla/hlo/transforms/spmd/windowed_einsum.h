#ifndef XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_
#define XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_options.h"

namespace xla::spmd {

// A dot as a ring: instead of a gather before it, or a reduce-scatter after it,
// each device computes one window at a time, while shards travel from device to
// device.
//
//   gather:  lhs f32[m/P,k], rhs f32[k,n/P], result f32[m/P,n]: P dots
//            f32[m/P,k] x f32[k,n/P], each fills n/P columns of the result; the
//            shards of rhs travel
//   scatter: lhs f32[m,k/P], rhs f32[k/P,n], result f32[m,n/P]: P dots
//            f32[m,k/P] x f32[k/P,n/P], the sums travel
struct WindowedDot {
  // Sums travel; else shards of the operand `moving`.
  bool scatters = false;
  int64_t moving = 0;
  // Elements of a window, along the dimensions given; -1: taken whole.
  int64_t window = 0;
  std::array<int64_t, 2> operand_dims = {-1, -1};
  // Windows of the result; -1: they are summed up.
  int64_t result_dim = -1;
  int64_t num_partitions = 0;
  // The number of the window that each device starts with.
  std::vector<int64_t> first;
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

// Whether `dot`, whose factors are given with the shardings that its operands
// have and its result shall have, becomes a ring of all devices. That takes
//  - gather: an operand cut along one dimension, the result and the other
//    operand cut by the same devices along a dimension that the first has not;
//  - scatter: both operands cut by the same devices along one contracting
//    dimension, the result cut along another factor;
//  - sizes and permissions as `options` has them, and no frontend attribute
//    _xla_collective_matmul="none";
//  - no other reader that gathers the operand anyway: one that is a dot, or
//    whose own sharding is not tiled (options may skip that).
std::optional<WindowedDot> ChooseWindowedDot(
    const HloInstruction& dot, const FactorTensor& lhs, const FactorTensor& rhs,
    const FactorTensor& result, int64_t num_partitions,
    const SpmdPartitionerOptions& options);

struct WindowedDotLoop {
  // In the shape of the shard under the sharding of the dot.
  HloInstruction* result;
  // Its state: lhs, rhs, result, number of the window, iteration. Null where
  // all steps are outside of a loop.
  HloInstruction* while_loop;
};

// `lhs` and `rhs` are shards, zero where contracting dimensions are padded.
// With `steps` of the ring per iteration; the first or last step, and what does
// not fill an iteration, are outside of the loop.
WindowedDotLoop EmitWindowedDot(HloInstruction* dot, const WindowedDot& ring,
                                HloInstruction* lhs, HloInstruction* rhs,
                                int64_t steps,
                                const PartitionedHlo::PartitioningState& state);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_
