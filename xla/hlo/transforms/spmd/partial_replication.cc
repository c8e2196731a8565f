#include "xla/hlo/transforms/spmd/partial_replication.h"

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

// Fetches what the intervals say, where that is not each shard itself.
std::optional<HloInstruction*> Fetch(
    HloInstruction* hlo, const HloSharding& sharding, int64_t dim,
    int64_t base_size, const ShardIntervals& intervals,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, HloInstruction* partition_id, SpmdBuilder* b) {
  const int64_t shard_size = hlo->shape().dimensions(dim);
  bool moves = intervals.size != shard_size;
  for (size_t i = 0; i < intervals.start.size(); ++i) {
    moves |= intervals.start[i] != static_cast<int64_t>(i) * shard_size;
  }
  if (!moves) return hlo;
  PartitionedHlo::PartitioningState state = {};
  state.b = b;
  state.partition_id = partition_id;
  state.collective_ops_creator = collective_ops_creator;
  state.next_channel_id = next_channel_id;
  return FetchIntervals(hlo, sharding, dim, base_size, intervals,
                        /*pad_value=*/nullptr, state);
}

}  // namespace

// Tiles are cut further, and each device then slices its part out of its tile.
// That needs tiles as long as all the parts that come from them: with f32[6] on
// 2 tiles for 4 parts of 2 elements (the last one is padding), the tiles [0, 3)
// and [3, 6) have to become [0, 4) and [4, 8) first.
std::optional<HloInstruction*> PadFromPartialReplicateShape(
    HloInstruction* hlo, const Shape& base_shape,
    const HloSharding& src_sharding, const HloSharding& dst_sharding,
    absl::Span<const int64_t> expand_tile_dims,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, HloInstruction* partition_id, SpmdBuilder* b) {
  for (int64_t d : expand_tile_dims) {
    const int64_t base_size = base_shape.dimensions(d);
    const int64_t tiles = ShardCountAtDim(src_sharding, d);
    const int64_t parts = ShardCountAtDim(dst_sharding, d);
    const int64_t size = parts / tiles * CeilOfRatio(base_size, parts);
    if (tiles == 1) {
      Shape padded = hlo->shape();
      padded.set_dimensions(d, size);
      hlo = PadToShape(hlo, padded, b);
      continue;
    }
    ShardIntervals intervals;
    intervals.size = size;
    for (int64_t i = 0; i < tiles; ++i) {
      intervals.start.push_back(i * size);
      intervals.needed.push_back(size);
    }
    const std::optional<HloInstruction*> padded =
        Fetch(hlo, src_sharding, d, base_size, intervals,
              collective_ops_creator, next_channel_id, partition_id, b);
    if (!padded.has_value()) return std::nullopt;
    hlo = *padded;
  }
  return hlo;
}

// The inverse: tiles move to where a gather of `group` neighbors makes each
// whole tile from its first element on. f32[6] on 4 tiles for 2 wholes of 3
// elements: the tiles begin at 0, 2, 4 and 6, and have to begin at 0, 2, 3 and
// 5; gathered in pairs they have [0, 4) and [3, 7), whose first 3 elements are
// the wholes.
std::optional<HloInstruction*> TileToPartialReplicateHaloExchange(
    HloInstruction* hlo, const Shape& base_shape,
    const HloSharding& src_sharding, const HloSharding& dst_sharding,
    absl::Span<const int64_t> replicate_dims,
    const SPMDCollectiveOpsCreator& collective_ops_creator,
    int64_t* next_channel_id, HloInstruction* partition_id, SpmdBuilder* b) {
  for (int64_t d : replicate_dims) {
    const int64_t base_size = base_shape.dimensions(d);
    const int64_t tiles = ShardCountAtDim(src_sharding, d);
    const int64_t wholes = ShardCountAtDim(dst_sharding, d);
    const int64_t size = CeilOfRatio(base_size, tiles);
    const int64_t group = tiles / wholes;
    ShardIntervals intervals;
    intervals.size = size;
    for (int64_t i = 0; i < tiles; ++i) {
      intervals.start.push_back(i / group * CeilOfRatio(base_size, wholes) +
                                i % group * size);
      intervals.needed.push_back(size);
    }
    const std::optional<HloInstruction*> aligned =
        Fetch(hlo, src_sharding, d, base_size, intervals,
              collective_ops_creator, next_channel_id, partition_id, b);
    if (!aligned.has_value()) return std::nullopt;
    hlo = *aligned;
  }
  return hlo;
}

}  // namespace xla::spmd
