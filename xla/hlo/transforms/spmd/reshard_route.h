#ifndef XLA_HLO_TRANSFORMS_SPMD_RESHARD_ROUTE_H_
#define XLA_HLO_TRANSFORMS_SPMD_RESHARD_ROUTE_H_

#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/reshard_pieces.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/shape.h"

namespace xla::spmd {

// How an array gets from one sharding to another: in pieces, or by legs, each
// of which is a plan of collectives or, without one, a permutation of equal
// tiles. With neither, the whole array is gathered and cut.
//
//   f32[8,8], {devices=[1,4]<=[4]} → {devices=[4,1]2,0,3,1}
//       an all-to-all (3/4 of a shard) to {devices=[4,1]<=[4]}, a permutation
//   f32[8,8], {devices=[2,1,2]3,0,1,2 last_tile_dim_replicate} → {replicated}
//       a gather: the order of the devices is that of the tiles
struct ReshardRoute {
  struct Leg {
    std::optional<ReshardPlan> plan;
    HloSharding to = HloSharding::Replicate();
  };
  std::vector<Leg> legs;
  std::optional<PiecePlan> pieces;
  // Bytes that a device receives.
  double bytes = 0;
};

// Whether shards are equal, though maybe on other devices.
bool HaveTheSameTiles(const HloSharding& a, const HloSharding& b);

// The cheapest that is found. Both are leaves, replicated or tiled.
ReshardRoute FindReshardRoute(const Shape& shape, const HloSharding& from,
                              const HloSharding& to);

// The bytes of that route: 0 where nothing moves. Values on one device are
// summed up with zeros of all others.
double RouteBytes(const Shape& shape, const HloSharding& from,
                  const HloSharding& to);

// While one lives, RouteBytes remembers on its thread what it has found: layers
// ask the same again and again, and each answer may be a search.
class RouteBytesMemo {
 public:
  RouteBytesMemo();
  RouteBytesMemo(const RouteBytesMemo&) = delete;
  RouteBytesMemo& operator=(const RouteBytesMemo&) = delete;
  ~RouteBytesMemo();

 private:
  friend double RouteBytes(const Shape& shape, const HloSharding& from,
                           const HloSharding& to);
  absl::flat_hash_map<std::tuple<Shape, HloSharding, HloSharding>, double>
      bytes_;
  // The memo of an enclosing run.
  RouteBytesMemo* const outer_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_RESHARD_ROUTE_H_
