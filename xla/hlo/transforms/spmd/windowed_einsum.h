#ifndef XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_
#define XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
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
//
// A ring consists of all devices or (option partial_windowed_einsum) of groups,
// as for f32[b/2,s/4,k] x f32[k,n/4] on eight devices: two rings of four.
struct WindowedDot {
  // Whether sums travel; otherwise shards of the operand `moving`.
  bool scatters = false;
  int64_t moving = 0;
  // The shardings of the operands, to which they are brought first.
  std::array<HloSharding, 2> shardings = {HloSharding::Replicate(),
                                          HloSharding::Replicate()};
  // Elements of a window, along the given dimensions; -1: taken whole.
  int64_t window = 0;
  std::array<int64_t, 2> operand_dims = {-1, -1};
  // The dimension of the result that windows cut; -1: they are summed.
  int64_t result_dim = -1;
  // The number of windows, and of devices of each ring.
  int64_t count = 0;
  // The number of the window that each device has, by device.
  std::vector<int64_t> ordinal;
  // The devices of each ring, by window.
  std::vector<std::vector<int64_t>> rings;
  // Each device sends to the previous one, whose window number is one less.
  std::vector<std::pair<int64_t, int64_t>> pairs;
};

// Whether `dot`, whose factors are given with the shardings that its operands
// have and its result must have, becomes a ring. The conditions are
//  - gather: an operand cut as the result is, and along one more dimension by
//    the devices that would hold copies of it;
//  - scatter: both operands cut alike along one contracting dimension, the
//    result cut by the same devices along another factor;
//  - sizes and permissions as `options` has them, and no frontend attribute
//    _xla_collective_matmul="none";
//  - no other reader that gathers the operand anyway: one that is a dot, or
//    whose own sharding is not tiled (options may skip that).
// If either operand could travel, it is the larger one or, with
// choose_faster_windowed_einsum_over_mem, the one whose ring is longer.
std::optional<WindowedDot> ChooseWindowedDot(
    const HloInstruction& dot, int64_t num_factors, const FactorTensor& lhs,
    const FactorTensor& rhs, const FactorTensor& result,
    absl::Span<const int64_t> contracting, int64_t num_partitions,
    const SpmdPartitionerOptions& options);

struct WindowedDotLoop {
  // In the shape of the shard under the sharding of the dot.
  HloInstruction* result;
  // Its state: lhs, rhs, result, number of the window, iteration; with both
  // directions also what travels back and the number of its window. Null if all
  // steps are outside of a loop.
  HloInstruction* while_loop;
  // One of the collective-permutes, which are all alike, and how many each
  // device runs: one less than the windows.
  const HloInstruction* hop = nullptr;
  int64_t hops = 0;
};

// How a ring runs: in both directions at once, half the windows each (an even
// number of them), and the number of steps per iteration. The first or last
// step, and steps that do not fill an iteration, are outside of the loop.
struct RingForm {
  bool both_ways = false;
  int64_t steps = 1;
};
RingForm FormOfRing(int64_t count, const SpmdPartitionerOptions& options);

// `lhs` and `rhs` are shards, zero where contracting dimensions are padded.
WindowedDotLoop EmitWindowedDot(HloInstruction* dot, const WindowedDot& ring,
                                HloInstruction* lhs, HloInstruction* rhs,
                                RingForm form,
                                const PartitionedHlo::PartitioningState& state);

// Moves readers of the result of a ring in which windows of the result are
// filled into the ring (windowed_einsum_users.cc), if they are elementwise
// instructions and reduces only. Returns the new loop; null if nothing moves.
HloInstruction* MoveUsersIntoRing(HloInstruction* loop);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_WINDOWED_EINSUM_H_
