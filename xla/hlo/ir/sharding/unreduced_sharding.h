#ifndef XLA_HLO_IR_SHARDING_UNREDUCED_SHARDING_H_
#define XLA_HLO_IR_SHARDING_UNREDUCED_SHARDING_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {

// Unreduced shardings: the devices of a group hold addends, whose sum is the
// tile.
//
//   {devices=[2,1,4]<=[8] last_tile_dims={unreduced}}   two tiles of rows, each
//                                                       the sum of four addends

// Whether the sharding, or an element of a tuple sharding, is unreduced.
bool HasUnreduced(const HloSharding& sharding);

// The tile dimension along which the addends of a tile lie; nullopt for leaves
// without one, and for {unreduced}, which has no tiles.
std::optional<int64_t> UnreducedDim(const HloSharding& leaf);

// {unreduced} as a tiling of an array of that rank: one tile, with an addend on
// every device. Other leaves are returned unchanged.
HloSharding WithTilesOfAddends(const HloSharding& leaf, int64_t rank,
                               int64_t num_devices);

// The same tiles, with the sum on each device that held an addend.
HloSharding WithSums(const HloSharding& sharding);

}  // namespace xla

#endif  // XLA_HLO_IR_SHARDING_UNREDUCED_SHARDING_H_
