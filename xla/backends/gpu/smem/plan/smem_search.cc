#include "xla/backends/gpu/smem/plan/smem_search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "xla/backends/gpu/smem/plan/smem_stab.h"

// Chooses where to put barriers and where to put buffers together. A set of
// barriers determines which pairs of buffers may overlap; for that relation,
// placement gives the bytes. The result is a Pareto front over (extra barriers,
// bytes, weight).
//
// For up to kSmallItems buffers, the arcs of all pairs are collected once and
// each is reduced to a bit mask of candidate barriers that would cover it, so
// that a set of barriers is evaluated by bit operations (PairRule), and
// placements are cached by relation matrix. With few candidates all subsets are
// tried; otherwise sets are grown greedily from the minimum. Larger kernels are
// handled with two sets only: the fewest barriers that correctness needs, and
// the fewest that make the best possible placement legal.

namespace xla::gpu {
namespace {

// Items up to which rules are written down pair by pair.
constexpr size_t kSmallItems = 40;
// All sets of so many candidates are tried for so many items.
constexpr size_t kAllSetsCandidates = 10;
constexpr size_t kAllSetsItems = 12;
constexpr size_t kMaxCandidates = 62;
constexpr int kMaxGrowth = 8;
// Nodes of exact placement for all sets together, and for each in any case.
constexpr int64_t kSearchNodes = 1000000;
constexpr int64_t kLeastNodes = 2000;

// Drops masks that contain another one: whatever hits the smaller mask hits the
// larger.
std::vector<uint64_t> Minimal(std::vector<uint64_t> masks) {
  absl::c_sort(masks, [](uint64_t a, uint64_t b) {
    const int p = __builtin_popcountll(a), q = __builtin_popcountll(b);
    return p != q ? p < q : a < b;
  });
  std::vector<uint64_t> kept;
  for (uint64_t mask : masks) {
    if (absl::c_none_of(kept, [&](uint64_t k) { return (k & ~mask) == 0; })) {
      kept.push_back(mask);
    }
  }
  return kept;
}

bool AllHit(const std::vector<uint64_t>& masks, uint64_t chosen) {
  return absl::c_all_of(masks, [&](uint64_t m) { return (m & chosen) != 0; });
}

}  // namespace

SmemSearch::SmemSearch(const SmemFlow& flow, SmemHazards& hazards,
                       const std::vector<SmemItem>& items,
                       const std::vector<SmemArc>& required,
                       int64_t lower_bound, const SmemSearchOptions& options)
    : flow_(flow),
      hazards_(hazards),
      items_(items),
      required_(required),
      lower_bound_(lower_bound),
      options_(options),
      nodes_left_(kSearchNodes) {
  for (const FlowGap& gap : flow.gaps()) {
    weights_.push_back(gap.block_meets ? gap.weight : -1);
  }
  StabProblem problem;
  problem.weights = weights_;
  for (const SmemArc& arc : required) problem.arcs.push_back(arc.gaps);
  // The fewest: by number, not by how often they run.
  for (int64_t& weight : problem.weights) weight = weight < 0 ? -1 : 1;
  required_count_ = static_cast<int>(SolveStab(problem).points.size());
}

// Arcs with the same gaps are stored once. For each pair of items: the arcs if
// they overlap anywhere, and the (often fewer) arcs if they have the same base.
void SmemSearch::CollectArcs() {
  absl::btree_map<std::vector<std::pair<int, int>>, int> known;
  auto id_of = [&](const SmemArc& arc) {
    auto [it, added] = known.insert({arc.gaps, static_cast<int>(arcs_.size())});
    if (added) arcs_.push_back({arc.gaps, 0});
    return it->second;
  };
  for (const SmemArc& arc : required_) required_arcs_.push_back(id_of(arc));
  pair_arcs_.resize(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    pair_arcs_[i].resize(i);
    for (size_t j = 0; j < i; ++j) {
      PairArcs& pair = pair_arcs_[i][j];
      pair.meet = items_[i].life.Meets(items_[j].life);
      if (pair.meet) continue;
      auto add = [&](std::vector<int>* list, bool* meet) {
        return [&, list, meet](const SmemArc& arc) {
          // Barriers of a warp are not worth counting: they are put in later.
          if (!hazards_.Coverable(arc)) *meet = true;
          if (arc.covered || arc.conflict != ThreadConflict::kBlock) {
            return true;
          }
          const int id = id_of(arc);
          if (!absl::c_linear_search(*list, id)) list->push_back(id);
          return true;
        };
      };
      const kir::BufferId x = items_[i].buffer, y = items_[j].buffer;
      hazards_.BetweenAnywhere(x, y, OrderedPairs::kSkip,
                               add(&pair.anywhere, &pair.meet_anywhere));
      if (!pair.anywhere.empty() || pair.meet_anywhere) {
        hazards_.Between(x, 0, y, 0, OrderedPairs::kSkip,
                         add(&pair.same_base, &pair.meet_at_base));
      }
    }
  }
}

// Selects candidate gaps by dominance and translates arcs to masks. False if
// more candidates are left than fit in a mask.
bool SmemSearch::BuildRules() {
  CollectArcs();
  StabProblem problem;
  problem.weights = weights_;
  for (const Arc& arc : arcs_) problem.arcs.push_back(arc.gaps);
  const std::vector<int> points = StabCandidates(problem);
  // Which arcs a point hits; points that hit no more than a cheaper one go.
  std::vector<std::vector<uint64_t>> hits(
      points.size(), std::vector<uint64_t>((arcs_.size() + 63) / 64));
  for (size_t a = 0; a < arcs_.size(); ++a) {
    for (const auto& [first, last] : arcs_[a].gaps) {
      auto it = absl::c_lower_bound(points, first);
      for (; it != points.end() && *it <= last; ++it) {
        hits[it - points.begin()][a / 64] |= uint64_t{1} << (a % 64);
      }
    }
  }
  std::vector<bool> idle(points.size(), false);
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t q = points.size(); q-- > 0 && !idle[p];) {
      if (p == q || idle[q] || weights_[points[q]] > weights_[points[p]]) {
        continue;
      }
      bool subset = true;
      for (size_t w = 0; w < hits[p].size() && subset; ++w) {
        subset = (hits[p][w] & ~hits[q][w]) == 0;
      }
      idle[p] = subset && (hits[p] != hits[q] || q > p ||
                           weights_[points[q]] < weights_[points[p]]);
    }
  }
  for (size_t p = 0; p < points.size(); ++p) {
    if (idle[p]) continue;
    if (candidates_.size() == kMaxCandidates) return false;
    for (size_t a = 0; a < arcs_.size(); ++a) {
      if (hits[p][a / 64] >> (a % 64) & 1) {
        arcs_[a].mask |= uint64_t{1} << candidates_.size();
      }
    }
    candidates_.push_back(points[p]);
  }
  for (int arc : required_arcs_) {
    // Unordered pairs were reported already.
    if (arcs_[arc].mask != 0) required_masks_.push_back(arcs_[arc].mask);
  }
  required_masks_ = Minimal(std::move(required_masks_));
  rules_.resize(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const PairArcs& pair = pair_arcs_[i][j];
      PairRule rule;
      rule.meet = pair.meet || pair.meet_anywhere;
      rule.base_meet = pair.meet || pair.meet_at_base;
      for (int arc : pair.anywhere) {
        rule.anywhere.push_back(arcs_[arc].mask);
      }
      for (int arc : pair.same_base) {
        rule.same_base.push_back(arcs_[arc].mask);
      }
      rule.anywhere = Minimal(std::move(rule.anywhere));
      rule.same_base = Minimal(std::move(rule.same_base));
      rules_[i].push_back(std::move(rule));
    }
  }
  return true;
}

// The relation of each pair under the chosen barriers: free if all arcs are
// hit, same base if at least those of equal addresses are, else disjoint.
PlaceProblem SmemSearch::ProblemFor(uint64_t chosen) const {
  PlaceProblem problem;
  problem.lower_bound = lower_bound_;
  const size_t n = items_.size();
  problem.relations.assign(n,
                           std::vector<PlaceRelation>(n, PlaceRelation::kFree));
  for (size_t i = 0; i < n; ++i) {
    problem.bytes.push_back(items_[i].bytes);
    problem.alignments.push_back(items_[i].alignment);
    for (size_t j = 0; j < i; ++j) {
      const PairRule& rule = rules_[i][j];
      PlaceRelation relation = PlaceRelation::kDisjoint;
      if (!rule.meet && AllHit(rule.anywhere, chosen)) {
        relation = PlaceRelation::kFree;
      } else if (!rule.base_meet && AllHit(rule.same_base, chosen)) {
        relation = PlaceRelation::kSameBase;
      }
      problem.relations[i][j] = problem.relations[j][i] = relation;
    }
  }
  return problem;
}

Placement SmemSearch::PlaceOrSeed(const PlaceProblem& problem,
                                  const PlaceOptions& options) const {
  Placement placement = PlaceBuffers(problem, options);
  if (options_.seed.size() == items_.size() &&
      TotalBytes(problem, options_.seed) < placement.total &&
      IsPlacement(problem, options_.seed)) {
    placement = {options_.seed, TotalBytes(problem, options_.seed), false};
  }
  return placement;
}

bool SmemSearch::HitsRequired(uint64_t chosen) const {
  return AllHit(required_masks_, chosen);
}

// Different barrier sets often give the same relations, hence the cache. The
// node budget of exact placement is shared by all evaluations.
SmemChoice SmemSearch::Evaluate(uint64_t chosen) {
  SmemChoice choice;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    if (chosen >> c & 1) {
      choice.gaps.push_back(candidates_[c]);
      choice.weight += weights_[candidates_[c]];
    }
  }
  choice.extra = static_cast<int>(choice.gaps.size()) - required_count_;
  const PlaceProblem problem = ProblemFor(chosen);
  std::string key;
  for (const auto& row : problem.relations) {
    for (PlaceRelation r : row)
      key += static_cast<char>('0' + static_cast<int>(r));
  }
  auto [it, added] = placed_.try_emplace(std::move(key));
  if (added) {
    PlaceOptions options;
    options.exact_up_to = options_.exact_up_to;
    if (items_.size() > kAllSetsItems) options.max_swaps = 50;
    options.max_nodes =
        std::max(kLeastNodes, std::min(options.max_nodes, nodes_left_));
    it->second = PlaceOrSeed(problem, options);
    nodes_left_ -= it->second.nodes;
  }
  choice.addresses = it->second.addresses;
  choice.total = it->second.total;
  choice.optimal = it->second.optimal;
  return choice;
}

// Keeps the choices that no other beats in bytes, number and weight.
void SmemSearch::Offer(const SmemChoice& choice) {
  if (choice.extra > options_.max_extra) return;
  auto beats = [](const SmemChoice& a, const SmemChoice& b) {
    return a.extra <= b.extra && a.total <= b.total &&
           (a.weight <= b.weight || a.extra < b.extra || a.total < b.total);
  };
  for (const SmemChoice& other : front_) {
    if (beats(other, choice)) return;
  }
  front_.erase(std::remove_if(front_.begin(), front_.end(),
                              [&](const SmemChoice& other) {
                                return beats(choice, other);
                              }),
               front_.end());
  front_.push_back(choice);
}

void SmemSearch::TryAllSets() {
  const uint64_t sets = uint64_t{1} << candidates_.size();
  for (uint64_t chosen = 0; chosen < sets; ++chosen) {
    if (__builtin_popcountll(chosen) - required_count_ > options_.max_extra ||
        !HitsRequired(chosen)) {
      continue;
    }
    Offer(Evaluate(chosen));
  }
}

// Greedy growth with local improvement: start from a minimum set, add the
// barrier that saves the most bytes, move single barriers while that helps.
// Finally the top-down variant: place as if every candidate were chosen, then
// keep the fewest barriers that this placement needs.
void SmemSearch::GrowSets() {
  StabProblem problem;
  for (int gap : candidates_) problem.weights.push_back(weights_[gap]);
  auto add = [&](uint64_t mask) {
    std::vector<std::pair<int, int>> arc;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (mask >> c & 1) {
        arc.push_back({static_cast<int>(c), static_cast<int>(c)});
      }
    }
    problem.arcs.push_back(std::move(arc));
  };
  for (uint64_t mask : required_masks_) add(mask);
  auto solve = [&] {
    uint64_t chosen = 0;
    for (int point : SolveStab(problem).points) chosen |= uint64_t{1} << point;
    return chosen;
  };
  // Moves one barrier at a time while that saves bytes.
  auto improve = [&](uint64_t chosen) {
    SmemChoice best = Evaluate(chosen);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t p = 0; p < candidates_.size() && !changed; ++p) {
        if (!(chosen >> p & 1)) continue;
        for (size_t q = 0; q < candidates_.size() && !changed; ++q) {
          const uint64_t moved = (chosen & ~(uint64_t{1} << p)) | uint64_t{1}
                                                                      << q;
          if (chosen >> q & 1 || !HitsRequired(moved)) continue;
          SmemChoice next = Evaluate(moved);
          if (next.total < best.total && next.weight <= best.weight) {
            best = std::move(next);
            chosen = moved;
            changed = true;
          }
        }
      }
    }
    Offer(best);
    return chosen;
  };
  uint64_t chosen = improve(solve());
  for (int step = 0; step < kMaxGrowth; ++step) {
    uint64_t best = 0;
    SmemChoice best_choice;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (chosen >> c & 1) continue;
      SmemChoice next = Evaluate(chosen | uint64_t{1} << c);
      if (best == 0 || next.total < best_choice.total) {
        best = chosen | uint64_t{1} << c;
        best_choice = std::move(next);
      }
    }
    if (best == 0 || best_choice.total <= 0) break;
    chosen = improve(best);
  }
  // As if barriers were free, then the fewest that make it right.
  const uint64_t all = (uint64_t{1} << candidates_.size()) - 1;
  const SmemChoice free = Evaluate(all);
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int64_t a = free.addresses[i], b = free.addresses[j];
      if (a >= b + items_[j].bytes || b >= a + items_[i].bytes) continue;
      const PairRule& rule = rules_[i][j];
      const bool same = a == b && !rule.base_meet;
      for (uint64_t mask : same ? rule.same_base : rule.anywhere) add(mask);
    }
  }
  improve(solve());
}

// Places what is left of all sets as if it were the only one.
void SmemSearch::FinishFront() {
  std::vector<SmemChoice> choices;
  choices.swap(front_);
  for (SmemChoice& choice : choices) {
    if (!choice.optimal &&
        static_cast<int>(items_.size()) <= options_.exact_up_to) {
      uint64_t chosen = 0;
      for (size_t c = 0; c < candidates_.size(); ++c) {
        if (absl::c_linear_search(choice.gaps, candidates_[c])) {
          chosen |= uint64_t{1} << c;
        }
      }
      PlaceOptions options;
      options.exact_up_to = options_.exact_up_to;
      const Placement placement = PlaceOrSeed(ProblemFor(chosen), options);
      if (placement.total < choice.total || placement.optimal) {
        choice.addresses = placement.addresses;
        choice.total = placement.total;
        choice.optimal = placement.optimal;
      }
    }
    Offer(choice);
  }
}

std::vector<SmemChoice> SmemSearch::Run() {
  hazards_.SetExtraBarriers({});
  if (items_.size() <= kSmallItems && BuildRules()) {
    if (candidates_.size() <= kAllSetsCandidates &&
        items_.size() <= kAllSetsItems) {
      TryAllSets();
    } else {
      GrowSets();
    }
    FinishFront();
  } else {
    RunLarge();
  }
  absl::c_sort(front_, [](const SmemChoice& a, const SmemChoice& b) {
    if (a.extra != b.extra) return a.extra < b.extra;
    return a.total != b.total ? a.total < b.total : a.weight < b.weight;
  });
  return front_;
}

// ---- Many buffers -----------------------------------------------------------

// Fast path for kernels with many buffers: compares the spans of both items
// among the top-level statements and asks whether a barrier lies between them.
// `decided`: the answer is exact without looking at single arcs.
bool SmemSearch::ClearlyApart(int i, int j, bool* decided) const {
  *decided = false;
  const auto& [first_i, last_i] = spans_[i];
  const auto& [first_j, last_j] = spans_[j];
  const int end = last_i < first_j ? last_i : last_j;
  const int begin = last_i < first_j ? first_j : first_i;
  if (end >= begin) return false;
  const std::vector<int>& nodes = flow_.sequences()[0].nodes;
  const bool plain = flow_.nodes()[nodes[end]].sequences.empty() &&
                     flow_.nodes()[nodes[begin]].sequences.empty();
  const bool covered = hazards_.BarrierBetween(0, end + 1, begin);
  *decided = covered || plain;
  return covered;
}

void SmemSearch::FindInnerBarriers(const std::vector<int>& gaps) {
  inner_barrier_.assign(flow_.sequences()[0].nodes.size(), false);
  auto mark = [&](int node) {
    while (flow_.Parent(node) >= 0) node = flow_.Parent(node);
    inner_barrier_[flow_.nodes()[node].index] = true;
  };
  for (int node = 0; node < static_cast<int>(flow_.nodes().size()); ++node) {
    if (flow_.nodes()[node].block_barrier) mark(node);
  }
  for (int gap : gaps) {
    const int owner = flow_.sequences()[flow_.gaps()[gap].sequence].owner;
    if (owner >= 0) mark(owner);
  }
}

std::vector<std::vector<PlaceRelation>> SmemSearch::RelationsWith(
    const std::vector<int>& gaps) {
  hazards_.SetExtraBarriers(gaps);
  const int n = static_cast<int>(items_.size());
  if (spans_.empty()) {
    for (const SmemItem& item : items_) {
      int first = std::numeric_limits<int>::max(), last = -1;
      for (int access : hazards_.AccessesOf(item.buffer)) {
        int node = flow_.accesses()[access].node;
        while (flow_.Parent(node) >= 0) node = flow_.Parent(node);
        first = std::min(first, flow_.nodes()[node].index);
        last = std::max(last, flow_.nodes()[node].index);
      }
      spans_.push_back({first, last});
    }
  }
  FindInnerBarriers(gaps);
  std::vector<std::vector<PlaceRelation>> relations(
      n, std::vector<PlaceRelation>(n, PlaceRelation::kFree));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      PlaceRelation relation = PlaceRelation::kFree;
      bool decided = false;
      if (items_[i].life.Meets(items_[j].life)) {
        relation = PlaceRelation::kDisjoint;
      } else if (!ClearlyApart(i, j, &decided)) {
        bool open = decided;
        auto look = [&](const SmemArc& arc) {
          open = (arc.conflict == ThreadConflict::kBlock && !arc.covered) ||
                 !hazards_.Coverable(arc);
          return !open;
        };
        if (!decided) {
          hazards_.BetweenAnywhere(items_[i].buffer, items_[j].buffer,
                                   OrderedPairs::kSkip, look);
        }
        if (open) {
          relation = PlaceRelation::kDisjoint;
          if (n <= 200) {
            open = false;
            hazards_.Between(items_[i].buffer, 0, items_[j].buffer, 0,
                             OrderedPairs::kSkip, look);
            if (!open) relation = PlaceRelation::kSameBase;
          }
        }
      }
      relations[i][j] = relations[j][i] = relation;
    }
  }
  hazards_.SetExtraBarriers({});
  return relations;
}

Placement SmemSearch::PlaceFor(const std::vector<int>& gaps) {
  PlaceProblem problem;
  for (const SmemItem& item : items_) {
    problem.bytes.push_back(item.bytes);
    problem.alignments.push_back(item.alignment);
  }
  problem.lower_bound = lower_bound_;
  problem.relations = RelationsWith(gaps);
  return PlaceOrSeed(problem, PlaceOptions());
}

// The two extremes described at the top of the file.
void SmemSearch::RunLarge() {
  StabProblem stab;
  stab.weights = weights_;
  for (const SmemArc& arc : required_) stab.arcs.push_back(arc.gaps);
  auto offer = [&](const std::vector<int>& gaps, const Placement& placement) {
    SmemChoice choice;
    choice.gaps = gaps;
    for (int gap : gaps) choice.weight += weights_[gap];
    choice.extra = std::max(0, static_cast<int>(gaps.size()) - required_count_);
    choice.addresses = placement.addresses;
    choice.total = placement.total;
    choice.optimal = placement.optimal;
    Offer(choice);
  };
  const std::vector<int> least = SolveStab(stab).points;
  const Placement first = PlaceFor(least);
  offer(least, first);
  if (first.total <= lower_bound_ || options_.max_extra == 0) return;
  // Barriers everywhere; then the fewest that make that placement right.
  std::vector<int> everywhere;
  for (int gap = 0; gap < static_cast<int>(weights_.size()); ++gap) {
    if (weights_[gap] >= 0) everywhere.push_back(gap);
  }
  const Placement free = PlaceFor(everywhere);
  if (free.total >= first.total) return;
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int64_t a = free.addresses[i], b = free.addresses[j];
      if (a >= b + items_[j].bytes || b >= a + items_[i].bytes) continue;
      hazards_.Between(
          items_[i].buffer, a, items_[j].buffer, b, OrderedPairs::kSkip,
          [&](const SmemArc& arc) {
            if (arc.conflict == ThreadConflict::kBlock && !arc.covered) {
              stab.arcs.push_back(arc.gaps);
            }
            return true;
          });
    }
  }
  offer(SolveStab(stab).points, free);
}

}  // namespace xla::gpu
