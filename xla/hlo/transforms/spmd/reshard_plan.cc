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
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Resharding as a shortest path. Device ids are factored into axes (stride and
// size) fine enough to express both shardings; a state assigns to each
// dimension the list of axes that cut it, major to minor. Edges are the data
// movements that a collective, or a local slice, can perform on such a state,
// weighted by the bytes a device receives:
//
//   slice       a dimension gains axes along which the data was replicated
//   all-gather  a dimension loses its minor axes
//   all-to-all  axes move from one dimension to another
//   permute     same tile counts, other devices
//
// Dijkstra's algorithm finds the cheapest sequence; states are few, since there
// are few axes, and the search gives up after kMaxStatesVisited or kMaxRelaxed.
// With many axes, a whole value is gathered without a search. Dimensions
// that tiles do not divide evenly cost extra halos, which are included
// (Received).

namespace xla::spmd {
namespace {

// Lists of devices longer than this are not searched for a rule.
constexpr int64_t kMaxListedDevices = 4096;
constexpr int64_t kMaxStatesVisited = 4000;
// With many axes each state has hundreds of neighbors.
constexpr int64_t kMaxRelaxed = 40000;
// States of more axes than these are too many to look at twice, and at all
// where the target is whole.
constexpr int64_t kMaxPrimeAxes = 6;
// Halos between more tiles than these are not planned.
constexpr int64_t kMaxRetiled = 512;

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
  // To a whole value by one gather per dimension, minor ones first. A device
  // receives the other tiles once each, the least where all are full.
  bool GatherAll(ReshardPlan* plan) const;

 private:
  struct Node {
    double cost;
    ReshardStep step;
    const CutAxes* from;
  };

  void Relax(const CutAxes& from, double cost, ReshardStep::Kind kind,
             CutAxes after, double bytes);
  void Slices(const CutAxes& cuts, double cost);
  void Gathers(const CutAxes& cuts, double cost);
  void Exchanges(const CutAxes& cuts, double cost);
  void Permutes(const CutAxes& cuts, double cost);
  // All axes at once that one all-to-all can bring to their places, or to such
  // places that only devices remain to be permuted.
  void ExchangesOfAll(const CutAxes& cuts, double cost);
  void RelaxExchange(const CutAxes& from, double cost, CutAxes after);

  // The shard that a device receives; nullopt if that is no step of this kind.
  std::optional<double> SliceBytes(const CutAxes& cuts, const CutAxes& after,
                                   int64_t d) const;
  std::optional<double> GatherBytes(const CutAxes& cuts, const CutAxes& after,
                                    int64_t d) const;
  std::optional<double> ExchangeBytes(const CutAxes& cuts,
                                      const CutAxes& after) const;
  // Elements along dimension d of which tiles become `to` long; 0 where it is
  // whole.
  std::optional<double> Received(const CutAxes& cuts, int64_t d, int64_t from,
                                 int64_t to) const;

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
  const Shape& shape_;
  const std::vector<DeviceAxis>& axes_;
  const CutAxes target_;
  int64_t item_bytes_;
  std::vector<bool> free_;
  std::map<CutAxes, Node> nodes_;
  using Entry = std::tuple<double, int64_t, const CutAxes*>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  int64_t order_ = 0;
  int64_t relaxed_ = 0;
};

// The usual relaxation. Each step adds a constant to its bytes, next to nothing
// for local slices.
void Search::Relax(const CutAxes& from, double cost, ReshardStep::Kind kind,
                   CutAxes after, double bytes) {
  ++relaxed_;
  // Among plans of equally many bytes, prefer the fewest steps.
  const double reached =
      cost + bytes +
      (kind == ReshardStep::Kind::kSlice && bytes == 0 ? 1e-3 : 1.0);
  auto [it, inserted] = nodes_.try_emplace(after);
  if (!inserted && it->second.cost <= reached) return;
  it->second =
      Node{reached, {kind, std::move(after)}, &nodes_.find(from)->first};
  queue_.push({reached, order_++, &it->first});
}

double Product(absl::Span<const int64_t> dims) {
  double product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

std::optional<double> Search::Received(const CutAxes& cuts, int64_t d,
                                       int64_t from, int64_t to) const {
  if (cuts[d].empty() || from == to) return 0;
  const int64_t tiles = Tiles(axes_, cuts[d]);
  const int64_t size = shape_.dimensions(d);
  if (tiles > kMaxRetiled || size == 0) return std::nullopt;
  return PlanHaloExchange(size, from, RetiledIntervals(size, tiles, to))
      .received;
}

std::optional<double> Search::SliceBytes(const CutAxes& cuts,
                                         const CutAxes& after,
                                         int64_t d) const {
  const std::vector<int64_t> dims = Dims(cuts);
  const int64_t parts = Tiles(axes_, after[d]) / Tiles(axes_, cuts[d]);
  const std::optional<double> received =
      Received(cuts, d, dims[d], parts * Dims(after)[d]);
  if (!received.has_value()) return std::nullopt;
  return *received == 0 ? 0 : *received * Bytes(cuts) / dims[d];
}

std::optional<double> Search::GatherBytes(const CutAxes& cuts,
                                          const CutAxes& after,
                                          int64_t d) const {
  const std::vector<int64_t> dims = Dims(cuts);
  const int64_t parts = Tiles(axes_, cuts[d]) / Tiles(axes_, after[d]);
  const int64_t size = shape_.dimensions(d);
  if (after[d].empty() &&
      FewHaveElements(size, dims[d], parts, shape_.element_type())) {
    return Bytes(cuts) * CeilOfRatio(size, dims[d]) * 2 * (parts - 1) / parts;
  }
  const std::optional<double> received =
      Received(after, d, parts * dims[d], Dims(after)[d]);
  if (!received.has_value()) return std::nullopt;
  return Bytes(cuts) * (parts - 1) +
         (*received == 0 ? 0 : *received * Bytes(cuts) / dims[d]);
}

// Three parts: halos that bring the gaining dimensions to a multiple of the
// pieces, the all-to-all itself, and halos that restore the tiles of the losing
// dimensions.
std::optional<double> Search::ExchangeBytes(const CutAxes& cuts,
                                            const CutAxes& after) const {
  std::vector<int64_t> dims = Dims(cuts);
  const std::vector<int64_t> then = Dims(after);
  double bytes = 0;
  int64_t group = 1;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const CutChange change = ChangeOfCut(cuts[d], after[d]);
    if (change.gained.empty()) continue;
    if (!change.lost.empty()) return std::nullopt;
    const int64_t parts = Tiles(axes_, change.gained);
    const std::optional<double> received =
        Received(cuts, d, dims[d], parts * then[d]);
    if (!received.has_value()) return std::nullopt;
    if (*received > 0) bytes += *received * Product(dims) / dims[d];
    group *= parts;
    // With the padding that the pieces have.
    dims[d] = then[d];
  }
  bytes += Product(dims) * (group - 1);
  for (size_t d = 0; d < cuts.size(); ++d) {
    const CutChange change = ChangeOfCut(cuts[d], after[d]);
    if (change.lost.empty()) continue;
    dims[d] *= Tiles(axes_, change.lost);
    const std::optional<double> received = Received(after, d, dims[d], then[d]);
    if (!received.has_value()) return std::nullopt;
    if (*received > 0) bytes += *received * Product(dims) / dims[d];
    dims[d] = then[d];
  }
  return bytes * item_bytes_;
}

// One axis at a time, and for sizes that no single axis divides all axes of the
// target at once.
void Search::Slices(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    for (int i : Copies(cuts)) {
      CutAxes after = cuts;
      after[d].push_back(i);
      const std::optional<double> bytes = SliceBytes(cuts, after, d);
      if (!bytes.has_value()) continue;
      Relax(cuts, cost, ReshardStep::Kind::kSlice, std::move(after), *bytes);
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
      Relax(cuts, cost, ReshardStep::Kind::kSlice, std::move(after), 0);
    }
  }
}

void Search::Gathers(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    CutAxes after = cuts;
    while (!after[d].empty()) {
      after[d].pop_back();
      const std::optional<double> bytes = GatherBytes(cuts, after, d);
      if (!bytes.has_value()) continue;
      Relax(cuts, cost, ReshardStep::Kind::kAllGather, after, *bytes);
    }
  }
}

void Search::RelaxExchange(const CutAxes& from, double cost, CutAxes after) {
  const std::optional<double> bytes = ExchangeBytes(from, after);
  if (!bytes.has_value()) return;
  Relax(from, cost, ReshardStep::Kind::kAllToAll, std::move(after), *bytes);
}

void Search::Exchanges(const CutAxes& cuts, double cost) {
  for (size_t d = 0; d < cuts.size(); ++d) {
    for (size_t count = 1; count <= cuts[d].size(); ++count) {
      for (size_t e = 0; e < cuts.size(); ++e) {
        if (e == d) continue;
        CutAxes after = cuts;
        const auto moved = after[d].end() - count;
        after[e].insert(after[e].end(), moved, after[d].end());
        after[d].erase(moved, after[d].end());
        RelaxExchange(cuts, cost, std::move(after));
      }
    }
  }
}

void Search::ExchangesOfAll(const CutAxes& cuts, double cost) {
  // To their places: axes that a dimension loses and another gains next.
  CutAxes exact = cuts;
  std::vector<int> leaving;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const CutChange change = ChangeOfCut(cuts[d], target_[d]);
    leaving.insert(leaving.end(), change.lost.begin(), change.lost.end());
    exact[d].resize(cuts[d].size() - change.lost.size());
  }
  std::vector<int> arriving;
  for (size_t d = 0; d < cuts.size(); ++d) {
    if (exact[d].size() != cuts[d].size()) continue;
    for (size_t i = exact[d].size(); i < target_[d].size(); ++i) {
      if (!absl::c_linear_search(leaving, target_[d][i])) break;
      exact[d].push_back(target_[d][i]);
      arriving.push_back(target_[d][i]);
    }
  }
  if (arriving.size() > 1 && arriving.size() == leaving.size()) {
    RelaxExchange(cuts, cost, std::move(exact));
  }
  // To places where there are as many tiles as there shall be.
  CutAxes counted = cuts;
  std::vector<int> moved;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const int64_t tiles = Tiles(axes_, target_[d]);
    while (Tiles(axes_, counted[d]) > tiles) {
      moved.push_back(counted[d].back());
      counted[d].pop_back();
    }
  }
  if (moved.size() < 2) return;
  absl::c_sort(moved);
  for (size_t d = 0; d < cuts.size(); ++d) {
    const int64_t tiles = Tiles(axes_, target_[d]);
    for (auto it = moved.begin(); it != moved.end();) {
      const int64_t present = Tiles(axes_, counted[d]);
      if (present < tiles && tiles % (present * axes_[*it].size) == 0) {
        counted[d].push_back(*it);
        it = moved.erase(it);
      } else {
        ++it;
      }
    }
    if (Tiles(axes_, counted[d]) != tiles) return;
  }
  if (moved.empty()) RelaxExchange(cuts, cost, std::move(counted));
}

void Search::Permutes(const CutAxes& cuts, double cost) {
  const auto permute = [&](CutAxes after) {
    Relax(cuts, cost, ReshardStep::Kind::kPermute, std::move(after),
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
    if (++visited > kMaxStatesVisited || relaxed_ > kMaxRelaxed) return false;
    Slices(*cuts, cost);
    Gathers(*cuts, cost);
    Exchanges(*cuts, cost);
    ExchangesOfAll(*cuts, cost);
    Permutes(*cuts, cost);
  }
  return false;
}

bool Search::GatherAll(ReshardPlan* plan) const {
  CutAxes cuts = plan->before;
  for (int64_t d = static_cast<int64_t>(cuts.size()) - 1; d >= 0; --d) {
    if (cuts[d].empty()) continue;
    CutAxes after = cuts;
    after[d].clear();
    const std::optional<double> bytes = GatherBytes(cuts, after, d);
    if (!bytes.has_value()) return false;
    plan->bytes += *bytes + 1;
    plan->steps.push_back({ReshardStep::Kind::kAllGather, after});
    cuts = std::move(after);
  }
  return true;
}

// Tile dimensions of data; none of a replicated value.
std::optional<TileAxes> AxesOf(const HloSharding& sharding) {
  if (!sharding.IsTiledLeaf()) return TileAxes();
  if (!OnlyReplicatedAndManual(sharding)) return std::nullopt;
  return AxesOfTiles(sharding.tile_assignment());
}

}  // namespace

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
    Search search(base_shape, *plan, after);
    if (plan->manual_axes != manual(target, *to) ||
        !(is_known ? search.GatherAll(&*plan) : search.Run(&*plan))) {
      plan.reset();
    }
    return plan;
  };
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
