#ifndef XLA_HLO_TRANSFORMS_SPMD_RESHARD_PLAN_H_
#define XLA_HLO_TRANSFORMS_SPMD_RESHARD_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/shape.h"

namespace xla::spmd {

// Device ids as coordinates: (id / stride) % size along each axis, those of
// larger stride first.
struct DeviceAxis {
  int64_t size;
  int64_t stride;
};

// Which axes, major ones first, cut each dimension of a value. Devices hold
// copies along the other axes, except along manual ones.
using CutAxes = std::vector<std::vector<int>>;

// One step from a sharding to another. If the tiles before a step do not
// consist of whole tiles after it, or vice versa (6 elements in 2 and in 4
// tiles), neighbors exchange halos first or last.
struct ReshardStep {
  enum class Kind {
    // A dimension has more axes: each device cuts its part out.
    kSlice,
    // The last axes of a dimension are removed: parts are gathered.
    kAllGather,
    // The last axes of some dimensions become the last ones of others.
    kAllToAll,
    // The same numbers of tiles, on different devices.
    kPermute,
  };
  Kind kind;
  CutAxes after;
};

// The axes of a dimension beyond the common prefix of both lists.
struct CutChange {
  std::vector<int> lost, gained;
};
CutChange ChangeOfCut(absl::Span<const int> before,
                      absl::Span<const int> after);

// Steps that move the fewest bytes per device.
//
//   f32[16,16], {devices=[2,4]<=[8]} → {devices=[8,1]<=[8]}
//       all-to-all of axis 1 from dimension 1 to dimension 0
//   f32[16,16], {devices=[8,1]<=[8]} → {devices=[1,2,4]<=[8] last_tile_dim..}
//       all-to-all of axis 0 (8 = 2*4, after a gather of the minor 4)
//   f32[8,8,8], {devices=[2,1,4]<=[8]} → {devices=[1,8,1]<=[8]}
//       one all-to-all of both axes
//   f32[8,8], {devices=[2,4]<=[4,2]T(1,0)} → {devices=[4,2]<=[8]}
//       all-to-all of the minor half of the axis of 4, and a permutation
struct ReshardPlan {
  std::vector<DeviceAxis> axes;
  std::vector<int> manual_axes;
  // Those that ids 0, 1, .. stand for; empty: the devices of these ids.
  std::vector<int64_t> devices;
  CutAxes before;
  std::vector<ReshardStep> steps;
  // Bytes that a device receives.
  double bytes = 0;

  // Steps other than slices.
  int64_t Moves() const;
  HloSharding Sharding(const CutAxes& cuts) const;
  // The devices that differ only along these axes, in the order of their
  // coordinates.
  std::unique_ptr<CollectiveDeviceListBase> Groups(
      absl::Span<const int> group_axes) const;
  // The row-major coordinate of each device along these axes.
  std::vector<int64_t> Coordinates(absl::Span<const int> some_axes) const;
};

// Nullopt if the two do not cut devices along common axes (irregular lists of
// devices, or sizes such as [2,3] and [3,2] of 6), or if too many steps would
// have to be examined. Both are leaves, replicated or tiled.
std::optional<ReshardPlan> PlanReshard(const Shape& base_shape,
                                       const HloSharding& source,
                                       const HloSharding& target);

// Tile i of `tiles` along a dimension of `base_size` elements: `size` elements
// from i * size on.
ShardIntervals RetiledIntervals(int64_t base_size, int64_t tiles, int64_t size);

// The sizes of a shard.
std::vector<int64_t> ShardDimensions(const Shape& base_shape,
                                     absl::Span<const DeviceAxis> axes,
                                     const CutAxes& cuts);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_RESHARD_PLAN_H_
