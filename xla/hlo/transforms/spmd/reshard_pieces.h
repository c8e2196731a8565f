#ifndef XLA_HLO_TRANSFORMS_SPMD_RESHARD_PIECES_H_
#define XLA_HLO_TRANSFORMS_SPMD_RESHARD_PIECES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

namespace xla::spmd {

// Pieces of one shape that are sent between devices, at most one from each and
// one to each.
struct PieceRound {
  // No pairs: what devices already have.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  std::vector<int64_t> dims;
  // By device, along each dimension: where a piece begins in the shard that it
  // comes from, and in the one that it goes to. A piece may begin before that
  // and end after it: its elements there are ignored.
  std::vector<std::vector<int64_t>> from, to;
  std::vector<bool> receives;
};

// How shards of any sizes, on devices in any order, become other ones: each
// device gets the parts of its new shard from the devices that have them.
//
//   s32[6,6], {devices=[2,3]<=[6]} → {devices=[3,2]<=[6]}
//       each shard [3,2] becomes one of [2,3]: pieces of at most [2,2]
struct PiecePlan {
  std::vector<PieceRound> rounds;
  // Bytes that a device receives.
  double bytes = 0;
};

// Nullopt if it takes more than 12 rounds or 1024 pieces, for scalars and
// arrays without elements, on more than 64 devices, and unless both shardings
// consist of tiles and copies only. O(pieces^2).
std::optional<PiecePlan> PlanPieces(const Shape& base_shape,
                                    const HloSharding& source,
                                    const HloSharding& target);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_RESHARD_PIECES_H_
