#include "xla/backends/gpu/smem/plan/smem_stab.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"

// Weighted hitting set of arcs, each a union of ranges on a line of points.
// Only the last usable point of a range can be needed, since any other point of
// the range is hit by no arc that ends later (StabCandidates). The candidates
// are then reduced by dominance (arcs that contain other arcs, points that hit
// no more than a cheaper one, arcs with a single point) until nothing changes;
// what is left is solved by branch and bound on the arc with the fewest points,
// with the greedy set cover solution as the first bound. Costs compare weight
// first and number of points second.
//
// For single ranges the reduction alone solves the problem in most cases; the
// branch limit only matters for adversarial inputs, and the solution says
// whether it was proved optimal.

namespace xla::gpu {
namespace {

constexpr int64_t kMaxBranches = 20000;

using Bits = std::vector<uint64_t>;

void Set(Bits& bits, int i) { bits[i / 64] |= uint64_t{1} << (i % 64); }
void Clear(Bits& bits, int i) { bits[i / 64] &= ~(uint64_t{1} << (i % 64)); }
bool Has(const Bits& bits, int i) { return bits[i / 64] >> (i % 64) & 1; }
bool Subset(const Bits& a, const Bits& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] & ~b[i]) return false;
  }
  return true;
}
int Count(const Bits& bits) {
  int count = 0;
  for (uint64_t word : bits) count += __builtin_popcountll(word);
  return count;
}
bool Empty(const Bits& bits) {
  return absl::c_all_of(bits, [](uint64_t word) { return word == 0; });
}

// The last usable point of [first, last]; -1 when there is none. `previous[p]`
// is the last usable point <= p.
int LastUsable(const std::vector<int>& previous, int first, int last) {
  const int p = previous[last];
  return p >= first ? p : -1;
}

std::vector<int> PreviousUsable(const std::vector<int64_t>& weights) {
  std::vector<int> previous(weights.size());
  int last = -1;
  for (size_t p = 0; p < weights.size(); ++p) {
    if (weights[p] >= 0) last = static_cast<int>(p);
    previous[p] = last;
  }
  return previous;
}

class Solver {
 public:
  explicit Solver(const StabProblem& problem) : problem_(problem) {}

  StabSolution Solve() {
    Prepare();
    Reduce();
    if (arcs_left_ > 0) {
      Greedy();
      best_ = chosen_;
      best_cost_ = cost_;
      std::vector<int> chosen = base_;
      Branch(Live(), chosen, base_cost_);
      solution_.optimal = branches_ <= kMaxBranches;
      chosen_ = best_;
    }
    for (int p : chosen_) {
      solution_.points.push_back(points_[p]);
      solution_.weight += problem_.weights[points_[p]];
    }
    absl::c_sort(solution_.points);
    return std::move(solution_);
  }

 private:
  // (weight, number of points), compared in this order.
  using Cost = std::pair<int64_t, int>;

  void Prepare() {
    points_ = StabCandidates(problem_);
    // Arcs with the same ranges are one.
    absl::btree_set<std::vector<int>> seen;
    std::vector<std::vector<int>> lists;
    for (size_t a = 0; a < problem_.arcs.size(); ++a) {
      std::vector<int> list;
      for (const auto& [first, last] : problem_.arcs[a]) {
        auto it = absl::c_lower_bound(points_, first);
        for (; it != points_.end() && *it <= last; ++it) {
          list.push_back(static_cast<int>(it - points_.begin()));
        }
      }
      absl::c_sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
      if (list.empty()) {
        solution_.unhit.push_back(static_cast<int>(a));
      } else if (seen.insert(list).second) {
        lists.push_back(std::move(list));
      }
    }
    lists = DropWiderRuns(std::move(lists));
    const size_t num_arcs = lists.size();
    points_of_.assign(num_arcs, Bits((points_.size() + 63) / 64));
    arcs_of_.assign(points_.size(), Bits((num_arcs + 63) / 64));
    for (size_t a = 0; a < num_arcs; ++a) {
      for (int p : lists[a]) {
        Set(points_of_[a], p);
        Set(arcs_of_[p], static_cast<int>(a));
      }
    }
    arc_alive_.assign(num_arcs, true);
    point_alive_.assign(points_.size(), true);
    arcs_left_ = static_cast<int>(num_arcs);
  }

  // Among arcs whose points are contiguous, one that contains another is hit
  // whenever the inner one is, so it can be dropped.
  static std::vector<std::vector<int>> DropWiderRuns(
      std::vector<std::vector<int>> lists) {
    std::vector<std::vector<int>> kept, runs;
    for (std::vector<int>& list : lists) {
      const bool run =
          list.back() - list.front() + 1 == static_cast<int>(list.size());
      (run ? runs : kept).push_back(std::move(list));
    }
    absl::c_sort(runs, [](const std::vector<int>& a,
                          const std::vector<int>& b) {
      return a.back() != b.back() ? a.back() < b.back() : a.front() > b.front();
    });
    int front = -1;
    for (std::vector<int>& run : runs) {
      if (run.front() <= front) continue;
      front = run.front();
      kept.push_back(std::move(run));
    }
    return kept;
  }

  int64_t Weight(int p) const { return problem_.weights[points_[p]]; }

  // Chooses a point: arcs that it hits are done, and the point itself is no
  // longer a choice.
  void Take(int p) {
    chosen_.push_back(p);
    cost_.first += Weight(p);
    ++cost_.second;
    for (size_t a = 0; a < arc_alive_.size(); ++a) {
      if (arc_alive_[a] && Has(arcs_of_[p], static_cast<int>(a))) {
        DropArc(static_cast<int>(a));
      }
    }
    DropPoint(p);
  }

  void DropArc(int a) {
    arc_alive_[a] = false;
    --arcs_left_;
    for (Bits& bits : arcs_of_) Clear(bits, a);
  }

  void DropPoint(int p) {
    point_alive_[p] = false;
    for (Bits& bits : points_of_) Clear(bits, p);
  }

  // Applies the three dominance rules to a fixed point. All points chosen here
  // belong to some optimal solution.
  void Reduce() {
    for (bool changed = true; changed && arcs_left_ > 0;) {
      changed = false;
      // An arc that holds all points of another is hit with it.
      for (size_t a = 0; a < arc_alive_.size(); ++a) {
        for (size_t b = 0; b < arc_alive_.size() && arc_alive_[a]; ++b) {
          if (a == b || !arc_alive_[b]) continue;
          if (Subset(points_of_[b], points_of_[a])) {
            DropArc(static_cast<int>(a));
            changed = true;
          }
        }
      }
      // A point that hits no more than another and costs no less is idle. Of
      // equal ones the later stays.
      for (size_t p = 0; p < points_.size(); ++p) {
        for (size_t q = points_.size(); q-- > 0 && point_alive_[p];) {
          if (p == q || !point_alive_[q]) continue;
          const Cost mine{Weight(static_cast<int>(p)), -static_cast<int>(p)};
          const Cost other{Weight(static_cast<int>(q)), -static_cast<int>(q)};
          const bool equal = arcs_of_[p] == arcs_of_[q];
          if (Subset(arcs_of_[p], arcs_of_[q]) &&
              (equal ? other < mine : other.first <= mine.first)) {
            DropPoint(static_cast<int>(p));
            changed = true;
          }
        }
      }
      for (size_t a = 0; a < arc_alive_.size(); ++a) {
        if (!arc_alive_[a] || Count(points_of_[a]) != 1) continue;
        for (size_t p = 0; p < points_.size(); ++p) {
          if (point_alive_[p] && Has(points_of_[a], static_cast<int>(p))) {
            Take(static_cast<int>(p));
            break;
          }
        }
        changed = true;
      }
    }
    base_ = chosen_;
    base_cost_ = cost_;
  }

  Bits Live() const {
    Bits live((arc_alive_.size() + 63) / 64);
    for (size_t a = 0; a < arc_alive_.size(); ++a) {
      if (arc_alive_[a]) Set(live, static_cast<int>(a));
    }
    return live;
  }

  // Classic greedy set cover, lowest (weight + 1) per newly hit arc, later
  // points preferred.
  void Greedy() {
    Bits open = Live();
    while (!Empty(open)) {
      int best = -1;
      double best_price = 0;
      for (size_t p = 0; p < points_.size(); ++p) {
        if (!point_alive_[p]) continue;
        Bits hit = arcs_of_[p];
        for (size_t i = 0; i < hit.size(); ++i) hit[i] &= open[i];
        const int count = Count(hit);
        if (count == 0) continue;
        const double price =
            static_cast<double>(Weight(static_cast<int>(p)) + 1) / count;
        if (best < 0 || price <= best_price) {
          best = static_cast<int>(p);
          best_price = price;
        }
      }
      for (size_t i = 0; i < open.size(); ++i) open[i] &= ~arcs_of_[best][i];
      chosen_.push_back(best);
      cost_.first += Weight(best);
      ++cost_.second;
    }
  }

  // Depth-first; every solution must hit the chosen arc by one of its points.
  void Branch(const Bits& open, std::vector<int>& chosen, Cost cost) {
    if (++branches_ > kMaxBranches || cost >= best_cost_) return;
    // The open arc with the fewest points.
    int arc = -1, fewest = 0;
    for (size_t a = 0; a < arc_alive_.size(); ++a) {
      if (!Has(open, static_cast<int>(a))) continue;
      const int count = Count(points_of_[a]);
      if (arc < 0 || count < fewest) {
        arc = static_cast<int>(a);
        fewest = count;
      }
    }
    if (arc < 0) {
      best_ = chosen;
      best_cost_ = cost;
      return;
    }
    for (size_t p = points_.size(); p-- > 0;) {
      if (!point_alive_[p] || !Has(points_of_[arc], static_cast<int>(p))) {
        continue;
      }
      Bits rest = open;
      for (size_t i = 0; i < rest.size(); ++i) rest[i] &= ~arcs_of_[p][i];
      chosen.push_back(static_cast<int>(p));
      Branch(rest, chosen,
             {cost.first + Weight(static_cast<int>(p)), cost.second + 1});
      chosen.pop_back();
    }
  }

  const StabProblem& problem_;
  StabSolution solution_;
  std::vector<int> points_;
  std::vector<Bits> points_of_, arcs_of_;
  std::vector<bool> arc_alive_, point_alive_;
  int arcs_left_ = 0;
  std::vector<int> chosen_, base_, best_;
  Cost cost_{0, 0}, base_cost_{0, 0}, best_cost_{0, 0};
  int64_t branches_ = 0;
};

}  // namespace

std::vector<int> StabCandidates(const StabProblem& problem) {
  const std::vector<int> previous = PreviousUsable(problem.weights);
  absl::btree_set<int> points;
  for (const auto& arc : problem.arcs) {
    for (const auto& [first, last] : arc) {
      const int p = LastUsable(previous, first, last);
      if (p >= 0) points.insert(p);
    }
  }
  return std::vector<int>(points.begin(), points.end());
}

StabSolution SolveStab(const StabProblem& problem) {
  return Solver(problem).Solve();
}

}  // namespace xla::gpu
