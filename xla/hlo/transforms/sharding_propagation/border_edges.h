#ifndef XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_BORDER_EDGES_H_
#define XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_BORDER_EDGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

namespace xla::sharding_edges {

// How devices are arranged at a border of a manual region that leaves
// dimensions open: by manual axes first, then, along open dimensions, as inside
// of the region.
//
//   outside {devices=[2,2,2]<=[8] last_tile_dim_replicate}
//     ↔ inside {devices=[1,2,2,2]<=[2,2,2]T(1,0,2)
//               last_tile_dims={manual, replicated}}, [2,1] tiles of manual
//               axes
class OpenBorder {
 public:
  // Of what is given on both sides of an SPMDFullToShardShape or
  // SPMDShardToFullShape; nullopt if no dimension is open, if only the border
  // has a sharding, or if the inside is cut by more than manual axes already.
  static std::optional<OpenBorder> Of(const HloInstruction& border);

  // The sharding inside that goes with one outside, and the reverse; nullopt
  // where the tiles are others than those of the manual axes, or uneven.
  std::optional<HloSharding> Inside(const HloSharding& outside) const;
  std::optional<HloSharding> Outside(const HloSharding& inside) const;

 private:
  using Index = std::vector<int64_t>;
  // Devices by number of their manual coordinates, which are `tiles` of each.
  Index group_;
  int64_t num_groups_ = 1;
  Index tiles_;
  std::vector<Index> tile_of_device_;
  Shape outside_;
};

}  // namespace xla::sharding_edges

#endif  // XLA_HLO_TRANSFORMS_SHARDING_PROPAGATION_BORDER_EDGES_H_
