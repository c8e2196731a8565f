#ifndef XLA_HLO_TRANSFORMS_SPMD_WINDOWED_RESHARD_H_
#define XLA_HLO_TRANSFORMS_SPMD_WINDOWED_RESHARD_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Slices and pads of sharded values, for handlers of custom calls: first the
// elements that each shard of the result reads
// (PartitionedHlo::ReshardAsWindowedInput), then the local instruction.

namespace xla::spmd {

std::optional<PartitionedHlo::WindowedInputShardReturnValue>
ReshardDataForSlicing(absl::Span<const int64_t> strides,
                      absl::Span<const int64_t> starts,
                      absl::Span<const int64_t> limits,
                      PartitionedHlo to_reshard,
                      const HloSharding& target_sharding, SpmdBuilder* b);
// The shard of the slice, whose whole is `base_shape`, under `target_sharding`.
HloInstruction* SliceDataFromWindowReshard(
    const PartitionedHlo::WindowedInputShardReturnValue& reshard_operand,
    absl::Span<const int64_t> strides, const Shape& base_shape,
    const HloSharding& target_sharding, SpmdBuilder* b);

std::optional<PartitionedHlo::WindowedInputShardReturnValue> ReshardDataForPad(
    HloInstruction* pad_value, PaddingConfig pc, PartitionedHlo to_reshard,
    const HloSharding& target_sharding, SpmdBuilder* b);
// The shard; if dynamic_slice_index_on_output is given, more than the shard,
// which begins there.
HloInstruction* PadDataFromWindowReshard(
    const PartitionedHlo::WindowedInputShardReturnValue& reshard_operand,
    HloInstruction* pad_value, SpmdBuilder* b);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_WINDOWED_RESHARD_H_
