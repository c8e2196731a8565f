#include "xla/hlo/transforms/spmd/reshard_search.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/util.h"

namespace xla::spmd {
namespace {

constexpr int64_t kMaxStatesVisited = 4000;
// With many axes each state has hundreds of neighbors.
constexpr int64_t kMaxRelaxed = 40000;
// Halos between more tiles than these are not planned.
constexpr int64_t kMaxRetiled = 512;

double Product(absl::Span<const int64_t> dims) {
  double product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

}  // namespace

int64_t Tiles(absl::Span<const DeviceAxis> axes, absl::Span<const int> some) {
  int64_t tiles = 1;
  for (int i : some) tiles *= axes[i].size;
  return tiles;
}

// What a step that moves nothing costs, and the transpositions around an
// all-to-all: next to nothing, to choose among what takes equally many bytes. A
// power of two, so that sums of bytes stay exact.
constexpr double kLocal = 1.0 / 1024;

// The usual relaxation. Each step adds a constant to its bytes.
void ReshardSearch::Relax(const CutAxes& from, double cost,
                          ReshardStep::Kind kind, CutAxes after, double bytes) {
  ++relaxed_;
  // Among plans of equally many bytes, prefer the fewest steps.
  double reached = cost + bytes;
  reached += kind == ReshardStep::Kind::kSlice && bytes == 0 ? kLocal : 1.0;
  if (kind == ReshardStep::Kind::kAllToAll) reached += kLocal;
  auto [it, inserted] = nodes_.try_emplace(after);
  Node& node = it->second;
  if (!inserted && node.cost <= reached) return;
  if (inserted) node.left = Lacking(after);
  node.cost = reached;
  node.step = {kind, std::move(after)};
  node.from = &nodes_.find(from)->first;
  queue_.push({reached + node.left, node.left, order_++, &it->first});
}

// A bound from below, as no step brings a device more than it counts: the tile
// of the target less what is common to it and the tile that the device has. In
// a dimension whose tiles differ by other axes than the last ones, that is
// nothing for some device with a full tile; else it is the shorter one of the
// two.
double ReshardSearch::Lacking(const CutAxes& cuts) const {
  const std::vector<int64_t> have = Dims(cuts), want = Dims(target_);
  double wanted = item_bytes_, common = item_bytes_;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const CutChange change = ChangeOfCut(cuts[d], target_[d]);
    const bool nests = change.lost.empty() || change.gained.empty();
    wanted *= want[d];
    common *= nests ? std::min(have[d], want[d]) : 0;
  }
  if (common < wanted) return wanted - common + 1;
  return cuts == target_ ? 0 : kLocal;
}

std::optional<double> ReshardSearch::Received(const CutAxes& cuts, int64_t d,
                                              int64_t from, int64_t to) const {
  if (cuts[d].empty() || from == to) return 0;
  const int64_t tiles = Tiles(axes_, cuts[d]);
  const int64_t size = shape_.dimensions(d);
  if (tiles > kMaxRetiled || size == 0) return std::nullopt;
  return PlanHaloExchange(size, from, RetiledIntervals(size, tiles, to))
      .received;
}

std::optional<double> ReshardSearch::SliceBytes(const CutAxes& cuts,
                                                const CutAxes& after,
                                                int64_t d) const {
  const std::vector<int64_t> dims = Dims(cuts);
  const int64_t parts = Tiles(axes_, after[d]) / Tiles(axes_, cuts[d]);
  const std::optional<double> received =
      Received(cuts, d, dims[d], parts * Dims(after)[d]);
  if (!received.has_value()) return std::nullopt;
  return *received == 0 ? 0 : *received * Bytes(cuts) / dims[d];
}

std::optional<double> ReshardSearch::GatherBytes(const CutAxes& cuts,
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
std::optional<double> ReshardSearch::ExchangeBytes(const CutAxes& cuts,
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
void ReshardSearch::Slices(const CutAxes& cuts, double cost) {
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

void ReshardSearch::Gathers(const CutAxes& cuts, double cost) {
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

void ReshardSearch::RelaxExchange(const CutAxes& from, double cost,
                                  CutAxes after) {
  const std::optional<double> bytes = ExchangeBytes(from, after);
  if (!bytes.has_value()) return;
  Relax(from, cost, ReshardStep::Kind::kAllToAll, std::move(after), *bytes);
}

// One dimension gives its minor axes to one other, as its minor ones: the tiles
// that a device sends then are blocks of its own tile. Several dimensions at
// once are ExchangesOfAll's, which looks only at what the target asks for: all
// pairs of moves would be a square of these, and two all-to-alls in sequence,
// which the search finds, receive less than twice as much.
void ReshardSearch::Exchanges(const CutAxes& cuts, double cost) {
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

void ReshardSearch::ExchangesOfAll(const CutAxes& cuts, double cost) {
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

void ReshardSearch::Permutes(const CutAxes& cuts, double cost) {
  const auto permute = [&](CutAxes after) {
    Relax(cuts, cost, ReshardStep::Kind::kPermute, std::move(after),
          Bytes(cuts));
  };
  // The axes of the target, and behind them those in use that gathers remove.
  CutAxes in_front = target_;
  std::vector<int> others;
  for (const std::vector<int>& dim : cuts) {
    absl::c_copy_if(dim, std::back_inserter(others), [&](int i) {
      return absl::c_none_of(target_, [&](const std::vector<int>& wanted) {
        return absl::c_linear_search(wanted, i);
      });
    });
  }
  bool fits = true;
  for (size_t d = 0; d < cuts.size(); ++d) {
    const int64_t tiles = Tiles(axes_, cuts[d]);
    for (auto it = others.begin(); it != others.end();) {
      if (tiles % (Tiles(axes_, in_front[d]) * axes_[*it].size) == 0) {
        in_front[d].push_back(*it);
        it = others.erase(it);
      } else {
        ++it;
      }
    }
    fits &= Tiles(axes_, in_front[d]) == tiles;
  }
  if (fits && in_front != cuts) permute(std::move(in_front));
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

void ReshardSearch::TakeStepsTo(const Node& last, ReshardPlan* plan) const {
  plan->bytes = last.cost;
  for (const Node* node = &last; node->from != nullptr;
       node = &nodes_.at(*node->from)) {
    plan->steps.push_back(node->step);
    // Only the search prefers others.
    if (node->step.kind == ReshardStep::Kind::kAllToAll) plan->bytes -= kLocal;
  }
  absl::c_reverse(plan->steps);
}

// The queue has no way to lower a key: a state that is reached more cheaply is
// queued again, and its older entries are skipped when they come up. Costs are
// positive, so when the target comes up first, its cost is final.
bool ReshardSearch::Run(ReshardPlan* plan) {
  auto source = nodes_.try_emplace(plan->before, Node{0, 0, {}, nullptr}).first;
  queue_.push({0.0, 0.0, order_++, &source->first});
  int64_t visited = 0;
  while (!queue_.empty()) {
    const auto [least, left, order, cuts] = queue_.top();
    queue_.pop();
    const Node& node = nodes_.at(*cuts);
    if (least > node.cost + node.left) continue;
    if (*cuts == target_ || ++visited > kMaxStatesVisited ||
        relaxed_ > kMaxRelaxed) {
      break;
    }
    const double cost = node.cost;
    Slices(*cuts, cost);
    Gathers(*cuts, cost);
    Exchanges(*cuts, cost);
    ExchangesOfAll(*cuts, cost);
    Permutes(*cuts, cost);
  }
  const auto target = nodes_.find(target_);
  if (target == nodes_.end()) return false;
  TakeStepsTo(target->second, plan);
  return true;
}

bool ReshardSearch::GatherAll(ReshardPlan* plan) const {
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

}  // namespace xla::spmd
