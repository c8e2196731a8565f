#include "xla/hlo/transforms/spmd/reshard_route.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/reshard_pieces.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

thread_local RouteBytesMemo* current_memo = nullptr;

// Longer lists of devices are not looked through for an order.
constexpr int64_t kMostListed = 4096;
// With more axes than these there are too many orders of them, and a search for
// a plan may take so long that there is no time for many.
constexpr size_t kMostOrderedAxes = 3;
// In place of one gather, more rounds than these must halve what is received.
constexpr int64_t kMostPieceRounds = 4;

// `sharding` with other devices.
HloSharding WithTiles(const HloSharding& sharding,
                      const TileAssignment& tiles) {
  std::vector<OpSharding::Type> types(sharding.subgroup_types().begin(),
                                      sharding.subgroup_types().end());
  if (sharding.ReplicateOnLastTileDim()) types = {OpSharding::REPLICATED};
  return types.empty() ? HloSharding::Tile(tiles)
                       : HloSharding::Subgroup(tiles, types);
}

// The same numbers of tiles, on devices in order.
HloSharding InDeviceOrder(const HloSharding& sharding) {
  return WithTiles(sharding,
                   TileAssignment(sharding.tile_assignment().dimensions()));
}

// Those with the axes behind tile dimensions in all orders, as far as they are
// few: {devices=[2,4]<=[8]}, {devices=[2,4]<=[4,2]T(1,0)}.
std::vector<HloSharding> InOrdersOfAxes(const HloSharding& sharding) {
  const absl::Span<const int64_t> dims =
      sharding.tile_assignment().dimensions();
  std::vector<int> order, cut;
  for (int d = 0; d < dims.size(); ++d) {
    order.push_back(d);
    if (dims[d] > 1) cut.push_back(d);
  }
  if (cut.size() > kMostOrderedAxes) return {InDeviceOrder(sharding)};
  std::vector<HloSharding> result;
  std::vector<int> axes = cut;
  do {
    std::vector<int64_t> sizes;
    std::vector<int> perm(dims.size());
    size_t next = 0;
    for (int d : order) {
      const int axis = dims[d] > 1 ? axes[next++] : d;
      sizes.push_back(dims[axis]);
      perm[axis] = d;
    }
    result.push_back(WithTiles(sharding, TileAssignment(dims, sizes, perm)));
  } while (std::next_permutation(axes.begin(), axes.end()));
  return result;
}

// Device v becomes names[v].
HloSharding Renamed(const HloSharding& sharding,
                    absl::Span<const int64_t> names) {
  if (!sharding.IsTiledLeaf()) return sharding;
  Array<int64_t> devices = sharding.tile_assignment().array();
  devices.Each(
      [&](absl::Span<const int64_t>, int64_t* id) { *id = names[*id]; });
  return WithTiles(sharding,
                   TileAssignment(std::make_shared<const Array<int64_t>>(
                       std::move(devices))));
}

// The devices in the order of their tiles, and the places of the devices there.
struct DeviceOrder {
  explicit DeviceOrder(const HloSharding& sharding) {
    places.resize(sharding.tile_assignment().num_elements());
    sharding.tile_assignment().Each(
        [&](absl::Span<const int64_t>, int64_t device) {
          places[device] = devices.size();
          devices.push_back(device);
        });
  }
  std::vector<int64_t> devices, places;
};

double BytesOfShard(const Shape& shape, const HloSharding& sharding) {
  return ShapeSizeInBytes(MakePartitionedShape(shape, sharding));
}

// Steps count for one byte each in the search.
double BytesOf(const ReshardPlan& plan) { return plan.bytes - plan.Moves(); }

ReshardRoute OfPlan(ReshardPlan plan, const HloSharding& to) {
  ReshardRoute route;
  route.bytes = BytesOf(plan);
  route.legs.push_back({std::move(plan), to});
  return route;
}

// From one device: an all-reduce, or a reduce-scatter to even tiles and an
// all-reduce among those that have copies of them.
double SpreadBytes(const Shape& shape, const HloSharding& to) {
  const double bytes = ShapeSizeInBytes(shape);
  if (!to.IsTiledLeaf() || to.IsManualSubgroup() ||
      !EvenlyPartitions(shape, to)) {
    return 2 * bytes;
  }
  const double tile = bytes / to.NumTiles();
  const double copies = to.num_devices() / to.NumTiles();
  return bytes - tile + 2 * tile * (copies - 1) / copies;
}

bool IsListed(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() && !sharding.IsManualSubgroup() &&
         sharding.tile_assignment().num_elements() <= kMostListed;
}

// A plan among the devices in the order of the tiles of `source`, or of
// `target`, where devices follow no order of their own. What remains is a
// permutation of the tiles of the other one.
std::optional<ReshardRoute> AmongRenamed(const Shape& shape,
                                         const HloSharding& source,
                                         const HloSharding& target) {
  if (source.IsManualSubgroup() || target.IsManualSubgroup()) {
    return std::nullopt;
  }
  std::optional<ReshardRoute> best;
  const auto offer = [&](std::optional<ReshardRoute> route) {
    if (route.has_value() &&
        (!best.has_value() || route->bytes < best->bytes)) {
      best = std::move(route);
    }
  };
  if (IsListed(source)) {
    const DeviceOrder order(source);
    const HloSharding from = InDeviceOrder(source);
    const HloSharding to = Renamed(target, order.places);
    if (auto plan = PlanReshard(shape, from, to)) {
      plan->devices = order.devices;
      return OfPlan(*std::move(plan), target);
    }
    if (!to.IsTiledLeaf()) return std::nullopt;
    for (const HloSharding& ordered : InOrdersOfAxes(to)) {
      auto plan = PlanReshard(shape, from, ordered);
      if (!plan.has_value()) continue;
      plan->devices = order.devices;
      ReshardRoute route =
          OfPlan(*std::move(plan), Renamed(ordered, order.devices));
      route.legs.push_back({std::nullopt, target});
      route.bytes += BytesOfShard(shape, target);
      offer(std::move(route));
    }
  }
  if (IsListed(target) && source.IsTiledLeaf()) {
    const DeviceOrder order(target);
    for (const HloSharding& ordered : InOrdersOfAxes(source)) {
      auto plan = PlanReshard(shape, ordered, InDeviceOrder(target));
      if (!plan.has_value()) continue;
      plan->devices = order.devices;
      ReshardRoute route;
      route.legs.push_back({std::nullopt, Renamed(ordered, order.devices)});
      route.bytes = BytesOfShard(shape, source) + BytesOf(*plan);
      route.legs.push_back({std::move(plan), target});
      offer(std::move(route));
    }
  }
  return best;
}

std::optional<ReshardRoute> ByPlans(const Shape& shape, const HloSharding& from,
                                    const HloSharding& to) {
  if (from == to) return ReshardRoute();
  if (auto plan = PlanReshard(shape, from, to)) {
    return OfPlan(*std::move(plan), to);
  }
  if (HaveTheSameTiles(from, to)) {
    ReshardRoute route;
    route.legs.push_back({std::nullopt, to});
    route.bytes = BytesOfShard(shape, from);
    return route;
  }
  return AmongRenamed(shape, from, to);
}

bool CutsManyDims(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() &&
         absl::c_count_if(sharding.tile_assignment().dimensions(),
                          [](int64_t tiles) { return tiles > 1; }) >
             static_cast<int64_t>(kMostOrderedAxes);
}

// By way of a sharding that has all of one dimension, where no axes of devices
// are common to both.
std::optional<ReshardRoute> ByWayOfWhole(const Shape& shape,
                                         const HloSharding& from,
                                         const HloSharding& to) {
  if (CutsManyDims(from) || CutsManyDims(to)) return std::nullopt;
  std::optional<ReshardRoute> best;
  for (const HloSharding* end : {&from, &to}) {
    for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
      if (ShardCountAtDim(*end, d) == 1) continue;
      const HloSharding way = ReplicatedOnDims(*end, {d});
      if (way == from || way == to) continue;
      std::optional<ReshardRoute> route = ByPlans(shape, from, way);
      const std::optional<ReshardRoute> rest = ByPlans(shape, way, to);
      if (!route.has_value() || !rest.has_value()) continue;
      route->bytes += rest->bytes;
      route->legs.insert(route->legs.end(), rest->legs.begin(),
                         rest->legs.end());
      if (!best.has_value() || route->bytes < best->bytes) {
        best = std::move(route);
      }
    }
  }
  return best;
}

bool Gathers(const ReshardRoute& route) {
  return absl::c_any_of(route.legs, [](const ReshardRoute::Leg& leg) {
    return leg.plan.has_value() &&
           absl::c_any_of(leg.plan->steps, [](const ReshardStep& step) {
             return step.kind == ReshardStep::Kind::kAllGather;
           });
  });
}

// Pieces, where they are less than all else: half of what a plan with a gather
// takes, as there may be more of them than steps.
bool PiecesPay(const PiecePlan& pieces, const ReshardRoute& other) {
  const int64_t moves = absl::c_count_if(
      pieces.rounds,
      [](const PieceRound& round) { return !round.pairs.empty(); });
  const bool one_plan =
      other.legs.size() == 1 && other.legs[0].plan.has_value();
  return one_plan || moves > kMostPieceRounds ? 2 * pieces.bytes <= other.bytes
                                              : pieces.bytes < other.bytes;
}

}  // namespace

bool HaveTheSameTiles(const HloSharding& a, const HloSharding& b) {
  return a.IsTiledLeaf() && b.IsTiledLeaf() &&
         a.subgroup_types() == b.subgroup_types() &&
         a.tile_assignment().dimensions() == b.tile_assignment().dimensions();
}

// The first way that is found of these: a plan of collectives, one permutation
// of tiles, a plan among renamed devices, two plans by way of a sharding with
// one dimension whole, and a gather of everything, which always works. Devices
// can also send each other pieces one by one; these are planned only where the
// way found gathers or has several legs, and taken only where they are so much
// less that more messages pay.
ReshardRoute FindReshardRoute(const Shape& shape, const HloSharding& from,
                              const HloSharding& to) {
  std::optional<ReshardRoute> route = ByPlans(shape, from, to);
  if (!from.IsTiledLeaf()) return route.value_or(ReshardRoute());
  if (!route.has_value()) route = ByWayOfWhole(shape, from, to);
  if (!route.has_value()) {
    route.emplace();
    route->bytes = BytesOfShard(shape, from) * (from.NumTiles() - 1);
  }
  const bool one_plan = route->legs.size() == 1;
  if (one_plan && !Gathers(*route)) return *std::move(route);
  std::optional<PiecePlan> pieces = PlanPieces(shape, from, to);
  if (pieces.has_value() && PiecesPay(*pieces, *route)) {
    route->legs.clear();
    route->bytes = pieces->bytes;
    route->pieces = std::move(pieces);
  }
  return *std::move(route);
}

RouteBytesMemo::RouteBytesMemo() : outer_(current_memo) { current_memo = this; }

RouteBytesMemo::~RouteBytesMemo() { current_memo = outer_; }

double RouteBytes(const Shape& shape, const HloSharding& from,
                  const HloSharding& to) {
  if (from == to) return 0;
  if (from.IsSingleDeviceLeaf()) return SpreadBytes(shape, to);
  if (!from.IsTiledLeaf()) return 0;
  const auto find = [&] {
    return FindReshardRoute(shape, from,
                            to.IsTiledLeaf() ? to : HloSharding::Replicate())
        .bytes;
  };
  if (current_memo == nullptr) return find();
  const auto [it, is_new] = current_memo->bytes_.try_emplace({shape, from, to});
  if (is_new) it->second = find();
  return it->second;
}

}  // namespace xla::spmd
