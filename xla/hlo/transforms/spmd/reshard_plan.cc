#include "xla/hlo/transforms/spmd/reshard_plan.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_search.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

// Lists of devices longer than this are not searched for a rule.
constexpr int64_t kMaxListedDevices = 4096;
// States of more axes than these are too many to look at twice, and at all
// where the target is whole.
constexpr int64_t kMaxPrimeAxes = 6;

// The axes behind each tile dimension, major ones first.
using TileAxes = std::vector<std::vector<DeviceAxis>>;

// Recovers the axes behind each tile dimension from the iota form of the
// assignment: minor dimensions consume the minor axes first, splitting an axis
// where a tile dimension ends in its middle. nullopt if the devices follow no
// such pattern.
std::optional<TileAxes> AxesOfTiles(const TileAssignment& tiles) {
  std::optional<IotaTileAssignment> iota = tiles.iota();
  if (!iota.has_value()) {
    if (tiles.num_elements() > kMaxListedDevices) return std::nullopt;
    iota = IotaTileAssignment::FromArray(tiles.array());
    if (!iota.has_value()) return std::nullopt;
  }
  std::vector<DeviceAxis> order;
  const absl::Span<const int64_t> sizes = iota->reshape_dims();
  for (int p : iota->transpose_perm()) {
    int64_t stride = 1;
    for (size_t i = p + 1; i < sizes.size(); ++i) stride *= sizes[i];
    order.push_back({sizes[p], stride});
  }
  TileAxes result(iota->ndims());
  for (int64_t d = iota->ndims() - 1; d >= 0; --d) {
    int64_t left = iota->dim(d);
    while (left > 1) {
      if (order.empty()) return std::nullopt;
      DeviceAxis& axis = order.back();
      const int64_t part = std::min(left, axis.size);
      if (left % part != 0 || axis.size % part != 0) return std::nullopt;
      result[d].insert(result[d].begin(), {part, axis.stride});
      left /= part;
      axis.size /= part;
      axis.stride *= part;
      if (axis.size == 1) order.pop_back();
    }
  }
  return result;
}

// Refines the axes of both shardings to common ones by cutting at every stride
// where one of them begins or ends. nullopt if the cuts do not divide each
// other.
std::optional<std::vector<DeviceAxis>> CommonAxes(
    absl::Span<const TileAxes> all) {
  std::set<int64_t> cuts;
  for (const TileAxes& tiles : all) {
    for (const std::vector<DeviceAxis>& dim : tiles) {
      for (const DeviceAxis& axis : dim) {
        cuts.insert(axis.stride);
        cuts.insert(axis.stride * axis.size);
      }
    }
  }
  std::vector<DeviceAxis> axes;
  int64_t previous = 0;
  for (int64_t cut : cuts) {
    if (previous != 0) {
      if (cut % previous != 0) return std::nullopt;
      axes.push_back({cut / previous, previous});
    }
    previous = cut;
  }
  absl::c_reverse(axes);
  return axes;
}

// Axes of prime sizes that together are those given: part of an axis of four
// devices may move alone.
std::vector<DeviceAxis> PrimeAxes(absl::Span<const DeviceAxis> axes) {
  std::vector<DeviceAxis> result;
  for (const DeviceAxis& axis : axes) {
    int64_t left = axis.size;
    for (int64_t prime = 2; left > 1; ++prime) {
      if (prime * prime > left) prime = left;
      for (; left % prime == 0; left /= prime) {
        result.push_back({prime, left / prime * axis.stride});
      }
    }
  }
  return result;
}

std::vector<int> NumbersOf(absl::Span<const DeviceAxis> dim,
                           absl::Span<const DeviceAxis> axes) {
  std::vector<int> numbers;
  for (const DeviceAxis& whole : dim) {
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].stride >= whole.stride &&
          axes[i].stride < whole.stride * whole.size) {
        numbers.push_back(i);
      }
    }
  }
  return numbers;
}

// The number among tile dimensions of the manual one, or -1.
int64_t ManualDim(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() ? sharding.SubgroupManualDim() : -1;
}

bool OnlyReplicatedAndManual(const HloSharding& sharding) {
  return absl::c_all_of(sharding.subgroup_types(), [](OpSharding::Type type) {
    return type == OpSharding::REPLICATED || type == OpSharding::MANUAL;
  });
}

// Tile dimensions of data; none of a replicated value.
std::optional<TileAxes> AxesOf(const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return TileAxes();
  if (!OnlyReplicatedAndManual(sharding)) return std::nullopt;
  return AxesOfTiles(sharding.tile_assignment());
}

}  // namespace

// Axes count from the major end, so a common prefix fixes which range of the
// dimension a device has, and may stay. Behind the first difference nothing
// stays, even if the same axes come again: cut by (a, b) device (0, 1) has the
// second quarter, cut by (b, a) it has the third.
CutChange ChangeOfCut(absl::Span<const int> before,
                      absl::Span<const int> after) {
  size_t common = 0;
  while (common < before.size() && common < after.size() &&
         before[common] == after[common]) {
    ++common;
  }
  return {{before.begin() + common, before.end()},
          {after.begin() + common, after.end()}};
}

ShardIntervals RetiledIntervals(int64_t base_size, int64_t tiles,
                                int64_t size) {
  ShardIntervals intervals;
  intervals.size = size;
  for (int64_t i = 0; i < tiles; ++i) {
    intervals.start.push_back(i * size);
    intervals.needed.push_back(
        std::clamp<int64_t>(base_size - i * size, 0, size));
  }
  return intervals;
}

std::vector<int64_t> ShardDimensions(const Shape& base_shape,
                                     absl::Span<const DeviceAxis> axes,
                                     const CutAxes& cuts) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < cuts.size(); ++d) {
    dims.push_back(CeilOfRatio(base_shape.dimensions(d), Tiles(axes, cuts[d])));
  }
  return dims;
}

int64_t ReshardPlan::Moves() const {
  return absl::c_count_if(steps, [](const ReshardStep& step) {
    return step.kind != ReshardStep::Kind::kSlice;
  });
}

HloSharding ReshardPlan::Sharding(const CutAxes& cuts) const {
  std::vector<int64_t> sizes, dims;
  std::vector<int> perm;
  std::vector<bool> used(axes.size(), false);
  for (const DeviceAxis& axis : axes) sizes.push_back(axis.size);
  const auto add = [&](absl::Span<const int> some) {
    dims.push_back(Tiles(axes, some));
    for (int i : some) {
      perm.push_back(i);
      used[i] = true;
    }
  };
  for (const std::vector<int>& dim : cuts) add(dim);
  for (int i : manual_axes) used[i] = true;
  std::vector<int> copies;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!used[i]) copies.push_back(i);
  }
  std::vector<OpSharding::Type> types = {OpSharding::REPLICATED};
  add(copies);
  if (!manual_axes.empty()) {
    add(manual_axes);
    types.push_back(OpSharding::MANUAL);
  }
  const TileAssignment tiles(dims, sizes, perm);
  if (devices.empty()) return HloSharding::Subgroup(tiles, types);
  Array<int64_t> named = tiles.array();
  named.Each(
      [&](absl::Span<const int64_t>, int64_t* id) { *id = devices[*id]; });
  return HloSharding::Subgroup(
      TileAssignment(std::make_shared<const Array<int64_t>>(std::move(named))),
      types);
}

std::unique_ptr<CollectiveDeviceListBase> ReshardPlan::Groups(
    absl::Span<const int> group_axes) const {
  std::vector<int64_t> sizes;
  std::vector<int> perm;
  for (size_t i = 0; i < axes.size(); ++i) {
    sizes.push_back(axes[i].size);
    if (!absl::c_linear_search(group_axes, static_cast<int>(i))) {
      perm.push_back(i);
    }
  }
  perm.insert(perm.end(), group_axes.begin(), group_axes.end());
  const int64_t group_size = Tiles(axes, group_axes);
  const int64_t count =
      absl::c_accumulate(sizes, int64_t{1}, std::multiplies<int64_t>());
  IotaReplicaGroupList groups(
      count / group_size, group_size,
      IotaTileAssignment::Create({count / group_size, group_size}, sizes,
                                 perm));
  if (devices.empty()) {
    return std::make_unique<IotaReplicaGroupList>(std::move(groups));
  }
  std::vector<std::vector<int64_t>> named = groups.flattened_replica_groups();
  for (std::vector<int64_t>& group : named) {
    for (int64_t& id : group) id = devices[id];
  }
  return std::make_unique<CollectiveDeviceList>(named);
}

std::vector<int64_t> ReshardPlan::Coordinates(
    absl::Span<const int> some_axes) const {
  int64_t count = 1;
  for (const DeviceAxis& axis : axes) count *= axis.size;
  std::vector<int64_t> result(count, 0);
  for (int64_t id = 0; id < count; ++id) {
    int64_t& place = result[devices.empty() ? id : devices[id]];
    for (int i : some_axes) {
      place = place * axes[i].size + id / axes[i].stride % axes[i].size;
    }
  }
  return result;
}

std::optional<ReshardPlan> PlanReshard(const Shape& base_shape,
                                       const HloSharding& source,
                                       const HloSharding& target) {
  std::optional<TileAxes> from = AxesOf(source), to = AxesOf(target);
  if (!from.has_value() || !to.has_value()) return std::nullopt;
  const std::optional<std::vector<DeviceAxis>> axes = CommonAxes({*from, *to});
  if (!axes.has_value()) return std::nullopt;
  const auto search = [&](std::vector<DeviceAxis> fine) {
    std::optional<ReshardPlan> plan(std::in_place);
    plan->axes = std::move(fine);
    const auto cuts = [&](const TileAxes& tiles) {
      CutAxes result(base_shape.dimensions().size());
      for (size_t d = 0; d < result.size() && d < tiles.size(); ++d) {
        result[d] = NumbersOf(tiles[d], plan->axes);
      }
      return result;
    };
    const auto manual = [&](const HloSharding& sharding,
                            const TileAxes& tiles) {
      const int64_t dim = ManualDim(sharding);
      return dim < 0 ? std::vector<int>() : NumbersOf(tiles[dim], plan->axes);
    };
    plan->manual_axes = manual(source, *from);
    plan->before = cuts(*from);
    const CutAxes after = cuts(*to);
    const bool is_known =
        plan->axes.size() > kMaxPrimeAxes &&
        absl::c_all_of(after, [](const auto& dim) { return dim.empty(); });
    ReshardSearch search(base_shape, *plan, after);
    if (plan->manual_axes != manual(target, *to) ||
        !(is_known ? search.GatherAll(&*plan) : search.Run(&*plan))) {
      plan.reset();
    }
    return plan;
  };
  // Axes as the shardings have them keep the search small. Only where they lead
  // to no plan, or to one of several moves, is it worth looking at parts of
  // axes, such as two of four devices that could move alone.
  std::optional<ReshardPlan> plan = search(*axes);
  std::vector<DeviceAxis> primes = PrimeAxes(*axes);
  if (primes.size() == axes->size() || primes.size() > kMaxPrimeAxes ||
      (plan.has_value() && plan->Moves() < 2)) {
    return plan;
  }
  std::optional<ReshardPlan> finer = search(std::move(primes));
  const bool better =
      finer.has_value() && (!plan.has_value() || finer->bytes < plan->bytes);
  return better ? std::move(finer) : std::move(plan);
}

}  // namespace xla::spmd
