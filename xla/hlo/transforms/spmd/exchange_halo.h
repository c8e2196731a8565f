#ifndef XLA_HLO_TRANSFORMS_SPMD_EXCHANGE_HALO_H_
#define XLA_HLO_TRANSFORMS_SPMD_EXCHANGE_HALO_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/offset_calculation.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/shape.h"

// Shards extended by parts of their neighbors. Sizes of halos are functions of
// the shard's ordinal; negative ones remove elements of the shard.

namespace xla::spmd {

// Each shard between a left and a right halo, which are as long as the longest
// that a shard with a neighbor on that side needs:
//
//   shards of 4, left 1, right ordinal * 1 of 3 shards  →  1 + 4 + 1 elements
//
// Elements that a shard does not need, and those beyond the first and last
// shard, are unspecified. One collective-permute per neighbor that is reached.
// nullopt if a halo would be longer than all other shards together, or if
// nothing of the shard would be left.
std::optional<HloInstruction*> ExchangeHalo(
    HloInstruction* hlo, const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function, int64_t dim,
    const HloSharding& target,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b);
// Along each dimension, one after the other, which includes corners.
std::optional<HloInstruction*> ExchangeHalo(
    HloInstruction* hlo,
    std::vector<OffsetCalculation> left_halo_size_functions,
    std::vector<OffsetCalculation> right_halo_size_functions,
    const HloSharding& target,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b);

// The shard of ordinal i with its own halos, left(i) + size + right(i)
// elements, at the low end; results are as long as the longest, and their
// remaining elements are unspecified. Elements outside of `base_shape` are
// `pad_value` (a scalar), or unspecified. `shard_ordinal` is an integer scalar.
HloInstruction* ExchangeHaloCompact(
    HloInstruction* hlo, const Shape& base_shape,
    const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function,
    HloInstruction* pad_value, int64_t dim, const HloSharding& sharding,
    HloInstruction* shard_ordinal,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b);

// `shard_size_with_halo` elements of each shard, from left(i) before it on. The
// whole is at `explicit_left_padding_on_full_shape` of a padded whole of
// `padded_full_shape_size` elements, of which shard i gets those from
// `offset_on_padded_shape` (a scalar of S32) on; elements outside of the whole
// become `pad_value` if `mask_invalid_region` or `force_mask_in_compact`,
// otherwise they are unspecified. nullopt if gathering would send no more.
std::optional<HloInstruction*> ExchangeHaloAndGetValidData(
    HloInstruction* hlo, const Shape& base_shape,
    const OffsetCalculation& left_halo_size_function,
    const OffsetCalculation& right_halo_size_function,
    int64_t explicit_left_padding_on_full_shape, int64_t padded_full_shape_size,
    int64_t shard_size_with_halo, int64_t dim, const HloSharding& target,
    HloInstruction* offset_on_padded_shape, HloInstruction* pad_value,
    HloInstruction* partition_ordinal,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, SpmdBuilder* b, bool mask_invalid_region = true,
    bool force_mask_in_compact = false);

// Shards with their padding along `dims` at the low end of the first instead of
// the high end of the last.
//
//   [0 1] [2 3] [4 ?]  →  [? 0] [1 2] [3 4]
HloInstruction* HaloExchangeToPadOnLeft(PartitionedHlo& original,
                                        absl::Span<const int64_t> dims);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_EXCHANGE_HALO_H_
