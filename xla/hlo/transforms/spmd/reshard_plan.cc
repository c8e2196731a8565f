#include "xla/hlo/transforms/spmd/reshard_plan.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

// Lists of devices longer than this are not searched for a rule.
constexpr int64_t kMaxListedDevices = 4096;
constexpr int64_t kMaxStatesVisited = 4000;

// The axes behind each tile dimension, major ones first.
using TileAxes = std::vector<std::vector<DeviceAxis>>;

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

// Axes between all the places where one of the two cuts.
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

int64_t Tiles(absl::Span<const DeviceAxis> axes, absl::Span<const int> some) {
  int64_t tiles = 1;
  for (int i : some) tiles *= axes[i].size;
  return tiles;
}

class Search {
 public:
  Search(const Shape& shape, const ReshardPlan& plan, CutAxes target)
      : shape_(shape), axes_(plan.axes), target_(std::move(target)) {
    item_bytes_ = ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type());
    free_.assign(axes_.size(), true);
    for (int i : plan.manual_axes) free_[i] = false;
  }

  // Dijkstra's algorithm; ties go to who came first.
  bool Run(ReshardPlan* plan);

 private:
  struct Node {
    double cost;
    ReshardStep step;
    const CutAxes* from;
  };

  void Relax(const CutAxes& from, double cost, ReshardStep step, double bytes);
  void Slices(const CutAxes& cuts, double cost);
  void Gathers(const CutAxes& cuts, double cost);
  void Exchanges(const CutAxes& cuts, double cost);
  void Permutes(const CutAxes& cuts, double cost);

  std::vector<int64_t> Dims(const CutAxes& cuts) const {
    return ShardDimensions(shape_, axes_, cuts);
  }
  double Bytes(const CutAxes& cuts) const {
    double bytes = item_bytes_;
    for (int64_t d : Dims(cuts)) bytes *= d;
    return bytes;
  }
  std::vector<int> Copies(const CutAxes& cuts) const {
    std::vector<int> copies;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const bool cut = absl::c_any_of(cuts, [&](const std::vector<int>& dim) {
        return absl::c_linear_search(dim, static_cast<int>(i));
      });
      if (free_[i] && !cut) copies.push_back(i);
    }
    return copies;
  }
  // Whether tiles of fewer, wider cuts consist of whole tiles of the present
  // ones.
  bool Nests(const CutAxes& wide, const CutAxes& narrow, int64_t d) const {
    if (wide[d].empty()) return true;
    const int64_t ratio = Tiles(axes_, narrow[d]) / Tiles(axes_, wide[d]);
    return Dims(wide)[d] == Dims(narrow)[d] * ratio;
  }

  const Shape& shape_;
  const std::vector<DeviceAxis>& axes_;
  const CutAxes target_;
  int64_t item_bytes_;
  std::vector<bool> free_;
  std::map<CutAxes, Node> nodes_;
  using Entry = std::tuple<double, int64_t, const CutAxes*>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  int64_t order_ = 0;
};

void Search::Relax(const CutAxes& from, double cost, ReshardStep step,
                   double bytes) {
  // Of equally many bytes the fewest steps.
  const double reached =
      cost + bytes + (step.kind == ReshardStep::Kind::kSlice ? 1e-3 : 1.0);
  auto [it, inserted] = nodes_.try_emplace(step.after);
  if (!inserted && it->second.cost <= reached) return;
  it->second = Node{reached, std::move(step), &nodes_.find(from)->first};
  queue_.push({reached, order_++, &it->first});
}

void Search::Slices(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    for (int i : Copies(cuts)) {
      CutAxes after = cuts;
      after[d].push_back(i);
      if (!cuts[d].empty() && !Nests(cuts, after, d)) continue;
      Relax(cuts, cost,
            {ReshardStep::Kind::kSlice, static_cast<int64_t>(d), -1, 1, after},
            0);
    }
    // All at once, for sizes that no single axis divides.
    if (cuts[d].empty() && target_[d].size() > 1) {
      const std::vector<int> copies = Copies(cuts);
      if (!absl::c_all_of(target_[d], [&](int i) {
            return absl::c_linear_search(copies, i);
          })) {
        continue;
      }
      CutAxes after = cuts;
      after[d] = target_[d];
      const int64_t count = target_[d].size();
      Relax(cuts, cost,
            {ReshardStep::Kind::kSlice, static_cast<int64_t>(d), -1, count,
             after},
            0);
    }
  }
}

void Search::Gathers(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    CutAxes after = cuts;
    int64_t group = 1;
    for (size_t count = 1; count <= cuts[d].size(); ++count) {
      group *= axes_[after[d].back()].size;
      after[d].pop_back();
      if (!Nests(after, cuts, d)) continue;
      Relax(cuts, cost,
            {ReshardStep::Kind::kAllGather, static_cast<int64_t>(d), -1,
             static_cast<int64_t>(count), after},
            Bytes(cuts) * (group - 1));
    }
  }
}

void Search::Exchanges(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    CutAxes gathered = cuts;
    for (size_t count = 1; count <= cuts[d].size(); ++count) {
      gathered[d].pop_back();
      if (!Nests(gathered, cuts, d)) continue;
      const std::vector<int> moved(cuts[d].end() - count, cuts[d].end());
      const int64_t group = Tiles(axes_, moved);
      for (size_t e = 0; e < cuts.size(); ++e) {
        if (e == d) continue;
        CutAxes after = gathered;
        after[e].insert(after[e].end(), moved.begin(), moved.end());
        if (!cuts[e].empty() && !Nests(cuts, after, e)) continue;
        // With the padding that the pieces have.
        const double bytes =
            Bytes(cuts) / Dims(cuts)[e] * Dims(after)[e] * (group - 1);
        Relax(cuts, cost,
              {ReshardStep::Kind::kAllToAll, static_cast<int64_t>(d),
               static_cast<int64_t>(e), static_cast<int64_t>(count), after},
              bytes);
      }
    }
  }
}

void Search::Permutes(const CutAxes& cuts, double cost) {
  const auto permute = [&](CutAxes after) {
    Relax(cuts, cost, {ReshardStep::Kind::kPermute, -1, -1, 0, after},
          Bytes(cuts));
  };
  bool alike = cuts != target_;
  for (size_t d = 0; d < cuts.size(); ++d) {
    alike &= Tiles(axes_, cuts[d]) == Tiles(axes_, target_[d]);
  }
  if (alike) permute(target_);
  const std::vector<int> copies = Copies(cuts);
  for (size_t d = 0; d < cuts.size(); ++d) {
    for (size_t i = 0; i < cuts[d].size(); ++i) {
      // The order of two axes of a dimension.
      for (size_t j = i + 1; j < cuts[d].size(); ++j) {
        CutAxes after = cuts;
        std::swap(after[d][i], after[d][j]);
        permute(std::move(after));
      }
      // One of the same size in its place.
      for (int other : copies) {
        if (axes_[other].size != axes_[cuts[d][i]].size) continue;
        CutAxes after = cuts;
        after[d][i] = other;
        permute(std::move(after));
      }
      for (size_t e = d + 1; e < cuts.size(); ++e) {
        for (size_t j = 0; j < cuts[e].size(); ++j) {
          if (axes_[cuts[e][j]].size != axes_[cuts[d][i]].size) continue;
          CutAxes after = cuts;
          std::swap(after[d][i], after[e][j]);
          permute(std::move(after));
        }
      }
    }
  }
}

bool Search::Run(ReshardPlan* plan) {
  auto source = nodes_.try_emplace(plan->before, Node{0, {}, nullptr}).first;
  queue_.push({0.0, order_++, &source->first});
  int64_t visited = 0;
  while (!queue_.empty()) {
    const auto [cost, order, cuts] = queue_.top();
    queue_.pop();
    if (cost > nodes_.at(*cuts).cost) continue;
    if (*cuts == target_) {
      plan->bytes = cost;
      for (const Node* node = &nodes_.at(target_); node->from != nullptr;
           node = &nodes_.at(*node->from)) {
        plan->steps.push_back(node->step);
      }
      absl::c_reverse(plan->steps);
      return true;
    }
    if (++visited > kMaxStatesVisited) return false;
    Slices(*cuts, cost);
    Gathers(*cuts, cost);
    Exchanges(*cuts, cost);
    Permutes(*cuts, cost);
  }
  return false;
}

// Tile dimensions of data; none of a replicated value.
std::optional<TileAxes> AxesOf(const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return TileAxes();
  if (!OnlyReplicatedAndManual(sharding)) return std::nullopt;
  return AxesOfTiles(sharding.tile_assignment());
}

}  // namespace

std::vector<int64_t> ShardDimensions(const Shape& base_shape,
                                     absl::Span<const DeviceAxis> axes,
                                     const CutAxes& cuts) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < cuts.size(); ++d) {
    dims.push_back(CeilOfRatio(base_shape.dimensions(d), Tiles(axes, cuts[d])));
  }
  return dims;
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
  return HloSharding::Subgroup(TileAssignment(dims, sizes, perm), types);
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
  const int64_t devices =
      absl::c_accumulate(sizes, int64_t{1}, std::multiplies<int64_t>());
  return std::make_unique<IotaReplicaGroupList>(
      devices / group_size, group_size,
      IotaTileAssignment::Create({devices / group_size, group_size}, sizes,
                                 perm));
}

std::vector<int64_t> ReshardPlan::Coordinates(
    absl::Span<const int> some_axes) const {
  int64_t devices = 1;
  for (const DeviceAxis& axis : axes) devices *= axis.size;
  std::vector<int64_t> result(devices, 0);
  for (int64_t id = 0; id < devices; ++id) {
    for (int i : some_axes) {
      result[id] =
          result[id] * axes[i].size + id / axes[i].stride % axes[i].size;
    }
  }
  return result;
}

std::optional<ReshardPlan> PlanReshard(const Shape& base_shape,
                                       const HloSharding& source,
                                       const HloSharding& target) {
  std::optional<TileAxes> from = AxesOf(source), to = AxesOf(target);
  if (!from.has_value() || !to.has_value()) return std::nullopt;
  std::optional<std::vector<DeviceAxis>> axes = CommonAxes({*from, *to});
  if (!axes.has_value()) return std::nullopt;
  ReshardPlan plan;
  plan.axes = *std::move(axes);
  const auto cuts = [&](const TileAxes& tiles) {
    CutAxes result(base_shape.dimensions().size());
    for (size_t d = 0; d < result.size() && d < tiles.size(); ++d) {
      result[d] = NumbersOf(tiles[d], plan.axes);
    }
    return result;
  };
  const auto manual = [&](const HloSharding& sharding, const TileAxes& tiles) {
    const int64_t dim = ManualDim(sharding);
    return dim < 0 ? std::vector<int>() : NumbersOf(tiles[dim], plan.axes);
  };
  plan.manual_axes = manual(source, *from);
  if (plan.manual_axes != manual(target, *to)) return std::nullopt;
  plan.before = cuts(*from);
  if (!Search(base_shape, plan, cuts(*to)).Run(&plan)) return std::nullopt;
  return plan;
}

}  // namespace xla::spmd
