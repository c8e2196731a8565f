#ifndef XLA_HLO_TRANSFORMS_SPMD_PARTIAL_REPLICATION_H_
#define XLA_HLO_TRANSFORMS_SPMD_PARTIAL_REPLICATION_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/shape.h"

// Converts between a sharding with few tiles, which several devices hold, and
// one whose tiles are parts of those, of sizes that do not divide. The numbers
// of tiles along each dimension do divide; devices along the dimensions follow
// the sharding with fewer tiles.

namespace xla::spmd {

// Each shard becomes as long along `expand_tile_dims` as the shards under
// `dst_sharding` that lie in it, so that those can be cut out:
//
//   7 elements, 2 tiles → 4   [0 1 2 3] [4 5 6 ?]  →  as it is
//   5 elements, 2 tiles → 4   [0 1 2] [3 4 ?]  →  [0 1 2 3] [4 ? ? ?]
//
// Elements beyond the whole are unspecified. nullopt if gathering the dimension
// would send no more.
std::optional<HloInstruction*> PadFromPartialReplicateShape(
    HloInstruction* hlo, const Shape& base_shape,
    const HloSharding& src_sharding, const HloSharding& dst_sharding,
    absl::Span<const int64_t> expand_tile_dims,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, HloInstruction* partition_id, SpmdBuilder* b);

// The inverse: shards under `src_sharding` of their size, such that those that
// lie in one shard under `dst_sharding`, one after the other, begin with it.
//
//   5 elements, 4 tiles → 2   [0 1] [2 3] [4 ?] [? ?]
//                          →  [0 1] [2 3] [3 4] [? ?]
std::optional<HloInstruction*> TileToPartialReplicateHaloExchange(
    HloInstruction* hlo, const Shape& base_shape,
    const HloSharding& src_sharding, const HloSharding& dst_sharding,
    absl::Span<const int64_t> replicate_dims,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, HloInstruction* partition_id, SpmdBuilder* b);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PARTIAL_REPLICATION_H_
