#include "xla/backends/gpu/smem/plan/smem_place.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"

// Placement with three kinds of relations between buffers: disjoint, free to
// overlap, or free to overlap only at the same base address. List placement
// under several orders gives a first solution. Small problems are then solved
// exactly by branch and bound over placements in ascending order of address;
// larger ones are improved by local search over the placement order.

namespace xla::gpu {
namespace {

constexpr int64_t kUnplaced = -1;

int64_t AlignUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

class Placer {
 public:
  Placer(const PlaceProblem& problem, const PlaceOptions& options)
      : problem_(problem),
        options_(options),
        n_(static_cast<int>(problem.bytes.size())) {
    neighbors_.resize(n_);
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        if (i == j || Relation(i, j) == PlaceRelation::kFree) continue;
        neighbors_[i].push_back(j);
        same_base_ |= Relation(i, j) == PlaceRelation::kSameBase;
      }
    }
    for (int i = 0; i < n_; ++i) {
      lower_bound_ = std::max(lower_bound_, problem.bytes[i]);
    }
    lower_bound_ = std::max(lower_bound_, problem.lower_bound);
  }

  int64_t nodes() const { return nodes_; }

  Placement Run() {
    best_.total = std::numeric_limits<int64_t>::max();
    if (n_ == 0) {
      best_ = {{}, 0, true};
      return best_;
    }
    for (std::vector<int>& order : Orders()) {
      Try(order);
      if (Done()) return Finish();
    }
    if (n_ <= options_.exact_up_to) {
      addresses_.assign(n_, kUnplaced);
      exact_ = true;
      Branch(0, 0, -1);
      best_.optimal = exact_ && !same_base_;
      return Finish();
    }
    Improve();
    return Finish();
  }

 private:
  PlaceRelation Relation(int i, int j) const {
    return problem_.relations[i][j];
  }
  bool Done() const { return best_.total <= lower_bound_; }
  Placement Finish() {
    best_.optimal |= Done();
    return best_;
  }

  // Sort keys for list placement: size, size weighted by conflicts, number of
  // conflicts, both input orders, padding, alignment, and the size of the
  // neighborhood.
  std::vector<std::vector<int>> Orders() const {
    std::vector<int> order(n_);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<int>> orders;
    auto by = [&](auto key) {
      std::vector<int> sorted = order;
      absl::c_stable_sort(sorted,
                          [&](int a, int b) { return key(a) > key(b); });
      orders.push_back(std::move(sorted));
    };
    auto degree = [&](int i) {
      return static_cast<int64_t>(neighbors_[i].size());
    };
    by([&](int i) { return problem_.bytes[i]; });
    by([&](int i) { return problem_.bytes[i] * (degree(i) + 1); });
    by(degree);
    orders.push_back(order);
    orders.push_back({order.rbegin(), order.rend()});
    // Items that leave the least space when padded go first.
    by([&](int i) {
      const int64_t align = problem_.alignments[i];
      return problem_.bytes[i] - AlignUp(problem_.bytes[i], align);
    });
    by([&](int i) { return problem_.alignments[i]; });
    // One large conflict-free run at a time: size of all neighbors together.
    by([&](int i) {
      int64_t sum = problem_.bytes[i];
      for (int j : neighbors_[i]) sum += problem_.bytes[j];
      return sum;
    });
    return orders;
  }

  // First fit from the bottom between placed neighbors; if a common base with
  // a neighbor is lower, that.
  int64_t LowestFit(int i) {
    const int64_t bytes = problem_.bytes[i], align = problem_.alignments[i];
    placed_.clear();
    bases_.clear();
    for (int j : neighbors_[i]) {
      if (addresses_[j] == kUnplaced) continue;
      if (Relation(i, j) == PlaceRelation::kSameBase) {
        bases_.push_back(addresses_[j]);
      }
      placed_.push_back({addresses_[j], addresses_[j] + problem_.bytes[j]});
    }
    std::sort(placed_.begin(), placed_.end());
    int64_t at = 0;
    for (const auto& [first, end] : placed_) {
      if (at + bytes <= first) break;
      at = std::max(at, AlignUp(end, align));
    }
    for (int64_t base : bases_) {
      if (base < at && base % align == 0 && Fits(i, base)) at = base;
    }
    return at;
  }

  bool Fits(int i, int64_t at) const {
    for (int j : neighbors_[i]) {
      const int64_t other = addresses_[j];
      if (other == kUnplaced || at >= other + problem_.bytes[j] ||
          other >= at + problem_.bytes[i]) {
        continue;
      }
      if (Relation(i, j) == PlaceRelation::kDisjoint || other != at) {
        return false;
      }
    }
    return true;
  }

  int64_t Try(const std::vector<int>& order) {
    addresses_.assign(n_, kUnplaced);
    int64_t total = 0;
    for (int i : order) {
      const int64_t at = LowestFit(i);
      addresses_[i] = at;
      total = std::max(total, at + problem_.bytes[i]);
      if (total > best_.total) return total;
    }
    if (total < best_.total) {
      best_.addresses = addresses_;
      best_.total = total;
      best_order_ = order;
    }
    return total;
  }

  // Swaps and rotations that bring forward a buffer which ends at the top of
  // the best solution, since only moving such a buffer can lower the total.
  // Random numbers come from a fixed linear congruential generator.
  void Improve() {
    int64_t swaps = options_.max_swaps;
    if (n_ > 100) swaps = swaps * 100 * 100 / n_ / n_;
    uint64_t random = 0x9e3779b97f4a7c15;
    for (int64_t k = 0; k < swaps && !Done(); ++k) {
      std::vector<int> order = best_order_;
      std::vector<int> top;
      for (int p = 0; p < n_; ++p) {
        if (best_.addresses[order[p]] + problem_.bytes[order[p]] ==
            best_.total) {
          top.push_back(p);
        }
      }
      auto next = [&](int64_t below) {
        random = random * 6364136223846793005 + 1442695040888963407;
        return static_cast<int>((random >> 33) % below);
      };
      const int p = top[next(top.size())];
      if (p > 0 && k % 4 != 3) {
        const int q = next(p);
        if (k % 2 == 0) {
          std::swap(order[p], order[q]);
        } else {
          std::rotate(order.begin() + q, order.begin() + p,
                      order.begin() + p + 1);
        }
      } else {
        std::swap(order[next(n_)], order[next(n_)]);
      }
      // Ties are taken too, to leave plateaus.
      const int64_t before = best_.total;
      if (Try(order) == before) {
        best_order_ = order;
        best_.addresses = addresses_;
      }
    }
  }

  // Canonical enumeration: every placement can be pushed down so that each
  // buffer is at its lowest fit, and be generated by placing buffers in
  // ascending order of (address, index). Prunes by the best total so far,
  // unless common bases make lowest fits non-monotone.
  void Branch(int count, int64_t from, int last) {
    if (!exact_ || Done()) return;
    if (count == n_) {
      int64_t total = 0;
      for (int i = 0; i < n_; ++i) {
        total = std::max(total, addresses_[i] + problem_.bytes[i]);
      }
      if (total < best_.total) {
        best_.addresses = addresses_;
        best_.total = total;
      }
      return;
    }
    if (++nodes_ > options_.max_nodes) {
      exact_ = false;
      return;
    }
    std::vector<std::pair<int64_t, int>> next;
    for (int i = 0; i < n_; ++i) {
      if (addresses_[i] != kUnplaced) continue;
      const int64_t at = LowestFit(i);
      // It never gets lower as more are placed, but for common bases.
      if (!same_base_ && std::max(at, from) + problem_.bytes[i] >= best_.total)
        return;
      next.push_back({at, i});
    }
    absl::c_sort(next);
    for (const auto& [at, i] : next) {
      // Another order places it earlier.
      if (at < from || (at == from && i < last)) continue;
      addresses_[i] = at;
      Branch(count + 1, at, i);
      addresses_[i] = kUnplaced;
    }
  }

  const PlaceProblem& problem_;
  const PlaceOptions& options_;
  const int n_;
  std::vector<std::vector<int>> neighbors_;
  int64_t lower_bound_ = 0;
  std::vector<int64_t> addresses_;
  std::vector<std::pair<int64_t, int64_t>> placed_;
  std::vector<int64_t> bases_;
  std::vector<int> best_order_;
  Placement best_;
  bool exact_ = false;
  bool same_base_ = false;  // some pair may overlap at one base only
  int64_t nodes_ = 0;
};

}  // namespace

Placement PlaceBuffers(const PlaceProblem& problem,
                       const PlaceOptions& options) {
  Placer placer(problem, options);
  Placement placement = placer.Run();
  placement.nodes = placer.nodes();
  return placement;
}

int64_t TotalBytes(const PlaceProblem& problem,
                   const std::vector<int64_t>& addresses) {
  int64_t total = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    total = std::max(total, addresses[i] + problem.bytes[i]);
  }
  return total;
}

bool IsPlacement(const PlaceProblem& problem,
                 const std::vector<int64_t>& addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] < 0 || addresses[i] % problem.alignments[i] != 0) {
      return false;
    }
    for (size_t j = 0; j < i; ++j) {
      if (addresses[i] >= addresses[j] + problem.bytes[j] ||
          addresses[j] >= addresses[i] + problem.bytes[i]) {
        continue;
      }
      const PlaceRelation r = problem.relations[i][j];
      if (r == PlaceRelation::kDisjoint ||
          (r == PlaceRelation::kSameBase && addresses[i] != addresses[j])) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace xla::gpu
