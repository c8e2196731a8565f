#ifndef XLA_HLO_TRANSFORMS_SPMD_HALO_EXCHANGE_H_
#define XLA_HLO_TRANSFORMS_SPMD_HALO_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/shape.h"

namespace xla::spmd {

// The window of each shard along one dimension: `size` elements from start[i]
// on, in coordinates of the whole, which it may exceed on both sides. Only the
// first needed[i] of them are read, except for the first unread[i] (all are if
// that is empty).
struct ShardIntervals {
  std::vector<int64_t> start;
  std::vector<int64_t> needed;
  std::vector<int64_t> unread;
  int64_t size = 0;
};

// How shards of `shard_size` elements of a dimension get such intervals.
//
//   shards 0..3 of 4 elements, start -1, 3, 7, 11, size 6
//       → one element from the left neighbor, one from the right one
//
// Each interval is covered by pieces, consecutive whole shards. What is not the
// shard's own is sent in rounds, in each of which a shard sends and receives at
// most once; a round may bring different pieces.
struct HaloPlan {
  struct Round {
    // Ordinals.
    std::vector<int64_t> from, to;
    // The part of the sending shards that is needed.
    int64_t low = 0, high = 0;
  };
  struct Piece {
    // By round that brings it, for which shards.
    std::vector<std::pair<int64_t, std::vector<int64_t>>> receivers;
    bool own = false;
  };
  std::vector<Round> rounds;
  std::vector<Piece> pieces;
  // By receiver, the shard that piece 0 consists of; below 0: one before the
  // first, so that neighbors on one side are one piece for all.
  std::vector<int64_t> first;
  // Maximum number of elements that a shard receives.
  int64_t received = 0;
};

HaloPlan PlanHaloExchange(int64_t base_size, int64_t shard_size,
                          const ShardIntervals& intervals);

// Nullopt if gathering the dimension would send no more. `shard` is tiled like
// `sharding` along `dim`, of `base_size` elements in the whole; other
// dimensions may have any size. Elements outside of the whole are unspecified,
// or `pad_value` (a scalar).
std::optional<HloInstruction*> FetchIntervals(
    HloInstruction* shard, const HloSharding& sharding, int64_t dim,
    int64_t base_size, const ShardIntervals& intervals,
    HloInstruction* pad_value, const PartitionedHlo::PartitioningState& state);

// The same, whatever it sends, for shards of any length, each of which begins
// at its ordinal times that length. `shard_ordinal`, an integer scalar, saves
// looking up the ordinal by state.partition_id, which may then be null.
HloInstruction* ExchangeIntervals(
    HloInstruction* shard, const HloSharding& sharding, int64_t dim,
    int64_t base_size, const ShardIntervals& intervals,
    HloInstruction* pad_value, const PartitionedHlo::PartitioningState& state,
    HloInstruction* shard_ordinal = nullptr);

// What a device receives in ExchangeIntervals of `shard` along `dim`, which
// becomes the shape of the result.
double BytesOfIntervals(int64_t base_size, const ShardIntervals& intervals,
                        int64_t dim, Shape* shard);

// Whether FetchIntervals returns a value.
bool CanFetchIntervals(int64_t base_size, int64_t num_shards,
                       const ShardIntervals& intervals);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_HALO_EXCHANGE_H_
