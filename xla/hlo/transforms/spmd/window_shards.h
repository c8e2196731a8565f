#ifndef XLA_HLO_TRANSFORMS_SPMD_WINDOW_SHARDS_H_
#define XLA_HLO_TRANSFORMS_SPMD_WINDOW_SHARDS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// The parts of an operand that shards of a result read through windows.

namespace xla::spmd {

// Along one dimension, result element r reads positions [r * stride - low, r *
// stride - low + width) of the operand, whose element e is at position e *
// base_dilation.
struct WindowDim {
  // Whether it reads anything other than element r for r.
  bool moves = false;
  int64_t low = 0;
  int64_t stride = 1;
  int64_t width = 1;
  int64_t base_dilation = 1;
};

WindowDim WindowDimOf(const WindowDimension& dim);

// The elements that a shard of the result reads, and the padding with which the
// local instruction computes the shard from them.
//
//   result of 8 in 2 shards, width 3, low 1: elements [-1, 5) and [3, 9),
//   no padding
//   result of 7 in 2 shards, width 1, base dilation 2, low 0: elements [0, 2)
//   and [2, 4), padding low 1, and results 1..4 of the local one
struct WindowShards {
  ShardIntervals intervals;
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  // Elements of the local result, and the position of the shard in it; all 0 if
  // the two are the same.
  int64_t result_size = 0;
  std::vector<int64_t> result_start;

  bool CutsResult() const;
};

// Whether shards of the result can be computed from intervals: dilated operands
// under strided windows may need different padding on each device.
bool CanShardWindows(const WindowDim& window, int64_t result_size,
                     int64_t shards);
WindowShards ShardWindows(const WindowDim& window, int64_t result_size,
                          int64_t shards);

// The sharding of operand and result: that of the operand if it is cut, without
// cuts along dimensions whose intervals are better gathered.
HloSharding ShardingOfWindows(const HloSharding& operand_sharding,
                              const Shape& operand, const Shape& result,
                              absl::Span<const WindowDim> windows);

// What an operand that has `present` is brought to, for windows of a result
// that is cut like `sharding`: that, or the same without cuts along the
// dimensions that move and that the operand has whole, out of which a device
// cuts what it reads.
//
//   {replicated}, windows of {devices=[4]<=[4]} → {replicated}
HloSharding SourceOfWindows(const Shape& operand, const HloSharding& present,
                            const HloSharding& sharding, const Shape& result,
                            absl::Span<const WindowDim> windows);

// The bytes that a device receives for that, and in FetchWindows.
double BytesOfWindows(const Shape& operand, const HloSharding& present,
                      const HloSharding& sharding, const Shape& result,
                      absl::Span<const WindowDim> windows);

// The operand, which is brought there, with the intervals along dimensions that
// move and that `sharding` cuts. Elements outside of the whole are `pad_value`
// (a scalar), or unspecified.
HloInstruction* FetchWindows(const PartitionedHlo& operand,
                             const HloSharding& sharding, const Shape& result,
                             absl::Span<const WindowDim> windows,
                             HloInstruction* pad_value);

// What tuples that take the result under `sharding` do not receive if it is
// computed so, before it is brought to `wanted`: that form remains at hand.
// Other readers may well be computed where their operands are.
double BytesSavedByTuples(const HloInstruction& hlo, const HloSharding& wanted,
                          const HloSharding& sharding);

// Slices the shard out of a local result, along dimensions that move and are
// cut.
HloInstruction* CutWindowResult(HloInstruction* local,
                                const HloSharding& sharding,
                                const Shape& result,
                                absl::Span<const WindowDim> windows,
                                const PartitionedHlo::PartitioningState& state);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_WINDOW_SHARDS_H_
