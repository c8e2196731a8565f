#include "xla/hlo/memory/graph/memory_order_search.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/memory/graph/cut_refinement.h"
#include "xla/hlo/memory/graph/greedy_order.h"
#include "xla/hlo/memory/graph/memory_cut.h"
#include "xla/hlo/memory/graph/memory_graph_reduction.h"
#include "xla/hlo/memory/graph/optimal_order.h"
#include "xla/hlo/memory/graph/series_parallel_reduction.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;

// Exact search looks at no more sets than this.
constexpr int64_t kMaxSets = 1 << 15;
// The cost of expanding a set, in steps.
constexpr int64_t kStepsPerSet = 64;
// The cost of ordering series-parallel parts, in steps.
constexpr int64_t kStepsPerNodeOfParts = 16;
// Rounds of cutting without a lower peak, after which the search ends.
constexpr int kMaxIdleRounds = 100;
// Orders to cut from; each keeps what its last round made of it.
constexpr size_t kMaxStarts = 4;

// A repeatable source of coin tosses (SplitMix64 of Steele, Lea and Flood,
// OOPSLA 2014).
class Coin {
 public:
  bool Toss() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((z ^ (z >> 31)) & 1) != 0;
  }

 private:
  uint64_t state_ = 0;
};

// A portfolio that stops as soon as the best order meets the lower bound:
//  - orders of the classic schedulers, which the caller passes in;
//  - series-parallel decomposition; optimal if the whole graph is one part;
//  - reduction of what is left, then greedy orders of the reduced graph;
//  - exact search if the reduced graph is small enough;
//  - iterated refinement by minimum cuts, from the best few orders.
//
// The lower bound rises along the way, at first by the needs of single steps,
// then by cuts at the current peak. Orders are always compared by replaying
// them on the original graph, since a reduced graph may over-estimate.
class OrderSearch {
 public:
  OrderSearch(const MemoryGraph& graph, int64_t steps)
      : graph_(graph), steps_(steps) {
    best_.lower_bound = AnyOrderLowerBound(graph, {}, /*steps=*/0);
  }

  FoundOrder Run(absl::Span<const NamedOrder> known) {
    for (const NamedOrder& named : known) Consider(named.name, named.order);
    if (IsOptimal() || OrderParts()) return std::move(best_);
    reduction_.emplace(parts_.has_value() ? parts_->graph() : graph_);
    if (steps_ > 0) {
      for (const NamedOrder& named : known) AddStart(Project(named.order));
    }
    for (GreedyRule rule :
         {GreedyRule::kLeastMemory, GreedyRule::kFreeingThenDeepest}) {
      std::vector<Node> order = GreedyOrder(reduction_->graph(), rule);
      Consider("greedy", Expand(order));
      AddStart(std::move(order));
    }
    if (steps_ <= 0 || IsOptimal()) return std::move(best_);
    RaiseBound();
    if (!IsOptimal() && !SearchExactly()) {
      int64_t for_bounds = steps_ / 4;
      steps_ -= for_bounds;
      RefineByCuts();
      if (!IsOptimal()) {
        RaiseTo(AnyOrderLowerBound(graph_, best_.order, for_bounds));
      }
    }
    return std::move(best_);
  }

 private:
  bool IsOptimal() const { return best_.peak_bytes <= best_.lower_bound.bytes; }

  // Keeps the order if it is the first or better than what there is.
  bool Consider(const std::string& algorithm, std::vector<Node> order) {
    MemoryPeak peak = ReplayPeak(graph_, order);
    if (!best_.algorithm.empty() && peak.bytes >= best_.peak_bytes) {
      return false;
    }
    best_.algorithm = algorithm;
    best_.order = std::move(order);
    best_.peak_bytes = peak.bytes;
    peak_position_ = peak.position;
    return true;
  }

  // Orders of the graph that both reductions leave.
  std::vector<Node> Expand(absl::Span<const Node> order) const {
    std::vector<Node> expanded = reduction_->Expand(order);
    return parts_.has_value() ? parts_->Expand(expanded) : expanded;
  }
  std::vector<Node> Project(const std::vector<Node>& order) const {
    return reduction_->Project(parts_.has_value() ? parts_->Project(order)
                                                  : order);
  }

  // Puts series-parallel parts in order. Returns whether best_ is optimal now.
  bool OrderParts() {
    if (steps_ <= 0) return false;
    parts_.emplace(graph_);
    steps_ -= kStepsPerNodeOfParts * graph_.node_count();
    if (!parts_->is_chain()) return false;
    Consider("series-parallel", parts_->Expand(parts_->ChainOrder()));
    RaiseTo({best_.peak_bytes, peak_position_ < 0
                                   ? MemoryGraph::kStart
                                   : best_.order[peak_position_]});
    return true;
  }

  void AddStart(std::vector<Node> order) {
    MemoryPeak peak = ReplayPeak(reduction_->graph(), order);
    starts_.push_back({peak.bytes, std::move(order)});
  }

  // A cut at the peak of the best order bounds every order from below.
  void RaiseBound() {
    if (peak_position_ < 0 || steps_ <= 0) return;
    if (!bound_cutter_.has_value()) {
      bound_cutter_.emplace(graph_, MemoryCutter::Mode::kLowerBound);
    }
    RaiseTo({bound_cutter_->LeastPeakAt(best_.order, peak_position_, &steps_),
             best_.order[peak_position_]});
  }

  void RaiseTo(const MemoryBound& bound) {
    if (bound.bytes <= best_.lower_bound.bytes) return;
    best_.lower_bound = bound;
  }

  // Returns whether best_ is optimal now.
  bool SearchExactly() {
    // Ordering parts keeps the optimum in any case.
    const MemoryGraph& ordered = parts_.has_value() ? parts_->graph() : graph_;
    bool is_whole = ordered.node_count() <= kMaxOptimalOrderNodes;
    const MemoryGraph& small = is_whole ? ordered : reduction_->graph();
    if (small.node_count() > kMaxOptimalOrderNodes) return false;
    int64_t sets = std::min(kMaxSets, steps_ / kStepsPerSet);
    std::optional<std::vector<Node>> order =
        OptimalOrder(small, best_.peak_bytes, &sets, &is_exhausted_);
    if (order.has_value()) {
      Consider("exact", !is_whole            ? Expand(*order)
                        : parts_.has_value() ? parts_->Expand(*order)
                                             : *order);
    }
    if (!is_exhausted_) return false;
    if (is_whole) best_.lower_bound.bytes = best_.peak_bytes;
    return true;
  }

  // The first two rounds are deterministic: towards the lower bound, with the
  // smallest and with the largest cuts. Later rounds vary target, cut rule and
  // cut size by coin tosses from a fixed seed, which gets them out of local
  // minima and keeps runs reproducible.
  void RefineByCuts() {
    CutRefiner refiner(reduction_->graph());
    absl::c_stable_sort(starts_, [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
    if (starts_.size() > kMaxStarts) starts_.resize(kMaxStarts);
    Coin coin;
    int idle_rounds = 0;
    for (int round = 0; steps_ > 0 && idle_rounds < kMaxIdleRounds; ++round) {
      for (auto& [peak, order] : starts_) {
        // Down to the bound, or only what is above the best so far.
        int64_t target = round >= 2 && coin.Toss() ? best_.peak_bytes - 1
                                                   : best_.lower_bound.bytes;
        bool by_need = round >= 2 && coin.Toss();
        refiner.Refine(
            order, target,
            {by_need, [&] { return round < 2 ? round == 1 : coin.Toss(); }},
            &steps_);
        if (Consider("cuts", Expand(order))) {
          idle_rounds = 0;
          RaiseBound();
          if (IsOptimal()) return;
        } else {
          ++idle_rounds;
        }
        if (steps_ <= 0) return;
      }
    }
  }

  const MemoryGraph& graph_;
  int64_t steps_;
  // The graph with its parts in order, and what is left of that.
  std::optional<SeriesParallelReduction> parts_;
  std::optional<MemoryGraphReduction> reduction_;
  FoundOrder best_;
  int32_t peak_position_ = -1;
  bool is_exhausted_ = false;
  std::optional<MemoryCutter> bound_cutter_;
  // Orders of the reduced graph to refine, with their peaks in it.
  std::vector<std::pair<int64_t, std::vector<Node>>> starts_;
};

}  // namespace

FoundOrder FindOrder(const MemoryGraph& graph,
                     absl::Span<const NamedOrder> known, int64_t steps) {
  return OrderSearch(graph, steps).Run(known);
}

}  // namespace xla
