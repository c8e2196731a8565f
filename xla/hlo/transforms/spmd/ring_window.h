#ifndef XLA_HLO_TRANSFORMS_SPMD_RING_WINDOW_H_
#define XLA_HLO_TRANSFORMS_SPMD_RING_WINDOW_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"

namespace xla::spmd {

// A dimension that wraps around, and what shards of a result read of it: shard
// i has elements (i * step + offset + t) mod n, t in [0, size). Only those of
// results below `result_size` are needed (t counts on from there as it does
// inside a shard).
//
//   n = 6 on 3 devices, step 2, offset -1, size 2: [5 0] [1 2] [3 4]
struct RingWindow {
  int64_t dim = 0;
  int64_t offset = 0;
  int64_t step = 0;
  int64_t size = 0;
  int64_t result_size = 0;
};

// Neighbors send what a shard lacks; if `operand` is whole along the dimension,
// slices it.
HloInstruction* FetchRingWindow(const PartitionedHlo& operand,
                                const RingWindow& window);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_RING_WINDOW_H_
