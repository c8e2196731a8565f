#include "xla/hlo/transforms/sharding_propagation/factor_solver.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/shape_util.h"

// A rule relates the dimensions of an instruction's tensors through factors:
// dimensions with a common factor are cut alike. The solver projects the
// shardings of a rule's tensors onto its factors, lets the factors agree, and
// writes extensions back; a tensor that changes makes its rules dirty.
// Shardings only ever grow by appending axes, so the iteration terminates:
// every change adds an axis to a tensor, and there are finitely many.
//
// Rounds go from safe to aggressive. In the first ones only instructions that
// move or combine elements one by one propagate, so that shardings spread along
// the obvious data flow before dots and reductions mix several tensors;
// constants follow at the very end. Each round alternates between two rules of
// agreement, each run to its fixed point: ApplyAgreed takes the longest list of
// axes on which all tensors agree, ApplyWanted lets the largest tensor impose
// its axes on tensors that can take them.

namespace xla {
namespace {

bool Begins(const AxisList& prefix, const AxisList& list) {
  return prefix.size() <= list.size() &&
         std::equal(prefix.begin(), prefix.end(), list.begin());
}

// Where a tensor holds a factor: the dimension, and the place in its list of
// factors (major to minor); -1 if it does not.
struct FactorPlace {
  int dim = -1;
  int place = -1;
};
FactorPlace Find(const OpShardingRule::Tensor& tensor, int factor) {
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    for (size_t i = 0; i < tensor.dims[d].size(); ++i) {
      if (tensor.dims[d][i] == factor) {
        return {static_cast<int>(d), static_cast<int>(i)};
      }
    }
  }
  return {};
}

}  // namespace

// Which way the factor may propagate in this round.
FactorSolver::Direction FactorSolver::DirectionOf(const RuleInstance& rule,
                                                  int factor,
                                                  Round round) const {
  if (rule.rule.factors[factor].blocked) return {};
  if (round >= kAll) return {true, true};
  if (rule.rule_class == RuleClass::kBroadcast) {
    return {false, round >= kPassThrough};
  }
  switch (round) {
    case kFlowOneUse:
    case kFlow:
      switch (rule.rule_class) {
        case RuleClass::kDataFlow:
        case RuleClass::kElementwise: {
          const bool now = round == kFlow || rule.operands_used_once;
          return {now, now};
        }
        case RuleClass::kDynamicSlice:
          return {true, false};
        default:
          return {};
      }
    case kPassThrough: {
      const bool now =
          rule.rule.factors[factor].kind == OpShardingRule::Kind::kPassThrough;
      return {now, now};
    }
    default:
      return {true, true};
  }
}

bool FactorSolver::IsSource(int tensor, Round round) const {
  if (states_[tensor].blocked) return false;
  return round == kConstants || !graph_.tensors()[tensor].constant;
}

bool FactorSolver::IsTarget(const RuleInstance& rule, int position, int factor,
                            Round round) const {
  const int tensor = rule.tensors[position];
  if (states_[tensor].blocked) return false;
  if (graph_.tensors()[tensor].constant != (round == kConstants)) return false;
  const Direction direction = DirectionOf(rule, factor, round);
  return position < rule.rule.num_operands
             ? direction.backward && rule.goes_backward
             : direction.forward && rule.goes_forward;
}

bool FactorSolver::MayApply(const RuleInstance& rule, Round round) const {
  if (round < kPassThrough) {
    const bool flows = rule.rule_class == RuleClass::kDataFlow ||
                       rule.rule_class == RuleClass::kElementwise;
    if (!flows && rule.rule_class != RuleClass::kDynamicSlice) return false;
    if (flows && round == kFlowOneUse && !rule.operands_used_once) return false;
  }
  bool has_axes = false, has_target = false;
  for (int tensor : rule.tensors) {
    if (states_[tensor].blocked) continue;
    has_target |= graph_.tensors()[tensor].constant == (round == kConstants);
    has_axes |=
        absl::c_any_of(states_[tensor].sharding.dims,
                       [](const AxisList& axes) { return !axes.empty(); });
  }
  return has_axes && has_target;
}

// Distributes the axes of each dimension over its factors, major first: an axis
// belongs to the first factor that is not used up yet. Stops where an axis does
// not divide what is left of a factor.
FactorSolver::FactorAxes FactorSolver::Project(const RuleInstance& rule) const {
  FactorAxes result(rule.tensors.size());
  for (size_t t = 0; t < rule.tensors.size(); ++t) {
    result[t].resize(rule.rule.factors.size());
    const TensorState& state = states_[rule.tensors[t]];
    if (state.blocked) continue;
    for (size_t d = 0; d < rule.rule.tensors[t].dims.size(); ++d) {
      const std::vector<int>& factors = rule.rule.tensors[t].dims[d];
      size_t next = 0;
      int64_t left = factors.empty() ? 0 : rule.rule.factors[factors[0]].size;
      for (int axis : state.sharding.dims[d]) {
        const int64_t size = mesh_.sizes()[axis];
        while (next + 1 < factors.size() && left == 1) {
          left = rule.rule.factors[factors[++next]].size;
        }
        if (next >= factors.size()) break;
        // The rest is cut more finely than the factors say.
        if (left % size != 0 && next + 1 < factors.size()) break;
        left /= size;
        result[t][factors[next]].push_back(axis);
      }
    }
  }
  return result;
}

// Whether `axis` may follow the `taken` axes of the factor on this tensor. The
// dimension must be open, the axis not in use on the tensor, all more major
// factors of the dimension fully cut and more minor ones not at all. Uneven
// division is allowed only for the minormost factor of a dimension, where
// padding stays at the end.
bool FactorSolver::Accepts(const RuleInstance& rule, int position, int factor,
                           const AxisList& taken, int axis) const {
  const TensorState& state = states_[rule.tensors[position]];
  const FactorPlace at = Find(rule.rule.tensors[position], factor);
  const TensorSharding& sharding = state.sharding;
  if (!sharding.open[at.dim]) return false;
  // taken may hold axes that are not set yet.
  const AxisMask bit = AxisMask{1} << axis;
  if ((sharding.Used() | sharding.replicated) & bit) return false;
  if (absl::c_linear_search(taken, axis)) return false;
  const std::vector<int>& factors = rule.rule.tensors[position].dims[at.dim];
  // Major factors have to be cut up, minor ones not at all.
  int64_t before = 1;
  for (int i = 0; i < at.place; ++i) {
    before *= rule.rule.factors[factors[i]].size;
  }
  const FactorAxes& axes_of = projected_;
  int64_t present = 1;
  for (int i = 0; i < at.place; ++i) {
    present *= mesh_.Extent(axes_of[position][factors[i]]);
  }
  if (present != before) return false;
  const int64_t all = mesh_.Extent(sharding.dims[at.dim]);
  if (all != present * mesh_.Extent(axes_of[position][factor])) return false;
  const int64_t extent = mesh_.Extent(taken) * mesh_.sizes()[axis];
  const OpShardingRule::Factor& info = rule.rule.factors[factor];
  int64_t covered = 1;
  for (int f : factors) covered *= rule.rule.factors[f].size;
  const bool minor_most =
      at.place + 1 == static_cast<int>(factors.size()) &&
      covered >=
          graph_.tensors()[rule.tensors[position]].shape->dimensions(at.dim);
  if (minor_most && info.kind != OpShardingRule::Kind::kPermutation) {
    return extent <= info.size;
  }
  return info.size % extent == 0;
}

bool FactorSolver::OnOtherFactor(const FactorAxes& axes, int factor,
                                 int axis) const {
  for (const std::vector<AxisList>& tensor : axes) {
    for (size_t f = 0; f < tensor.size(); ++f) {
      if (static_cast<int>(f) != factor &&
          absl::c_linear_search(tensor[f], axis)) {
        return true;
      }
    }
  }
  return false;
}

void FactorSolver::Extend(const RuleInstance& rule, int position, int factor,
                          const AxisList& current, const AxisList& wanted,
                          int source) {
  const int tensor = rule.tensors[position];
  TensorState& state = states_[tensor];
  const FactorPlace at = Find(rule.rule.tensors[position], factor);
  for (size_t i = current.size(); i < wanted.size(); ++i) {
    state.sharding.dims[at.dim].push_back(wanted[i]);
    const int origin = states_[source].origin[wanted[i]];
    state.origin[wanted[i]] = origin < 0 ? source : origin;
  }
  changed_.push_back(tensor);
  if (absl::c_count(rule.tensors, tensor) > 1) {
    projected_ = Project(rule);  // add(x, x)
  } else {
    projected_[position][factor] = wanted;
  }
}

// Per factor: starts from the longest list of axes and keeps its prefix as long
// as every source tensor either has the same axis there or could take it, and
// no tensor uses the axis for another factor.
bool FactorSolver::ApplyAgreed(const RuleInstance& rule, Round round) {
  changed_.clear();
  projected_ = Project(rule);
  const int count = static_cast<int>(rule.tensors.size());
  for (int f = 0; f < static_cast<int>(rule.rule.factors.size()); ++f) {
    int longest = -1;
    for (int t = 0; t < count; ++t) {
      if (!IsSource(rule.tensors[t], round)) continue;
      if (projected_[t][f].empty()) continue;
      if (longest < 0 ||
          projected_[t][f].size() > projected_[longest][f].size()) {
        longest = t;
      }
    }
    if (longest < 0) continue;
    // Cut where a tensor says otherwise, or cannot follow.
    AxisList agreed;
    for (size_t i = 0; i < projected_[longest][f].size(); ++i) {
      const int axis = projected_[longest][f][i];
      bool all = !OnOtherFactor(projected_, f, axis);
      for (int t = 0; all && t < count; ++t) {
        // Constants are no obstacle: they follow at the end.
        if (Find(rule.rule.tensors[t], f).dim < 0 ||
            !IsSource(rule.tensors[t], round)) {
          continue;
        }
        const AxisList& own = projected_[t][f];
        all =
            i < own.size() ? own[i] == axis : Accepts(rule, t, f, agreed, axis);
      }
      if (!all) break;
      agreed.push_back(axis);
    }
    for (int t = 0; t < count; ++t) {
      const AxisList own = projected_[t][f];
      if (own.size() >= agreed.size() ||
          Find(rule.rule.tensors[t], f).dim < 0 ||
          !IsTarget(rule, t, f, round)) {
        continue;
      }
      Extend(rule, t, f, own, agreed, rule.tensors[longest]);
    }
  }
  return !changed_.empty();
}

// Conflicts are resolved by size: resharding a large tensor costs more than
// resharding a small one, and, of equally large ones, bringing small shards to
// the tiles of large ones more than the reverse.
bool FactorSolver::ApplyWanted(const RuleInstance& rule, Round round) {
  changed_.clear();
  projected_ = Project(rule);
  const int count = static_cast<int>(rule.tensors.size());
  // Larger tensors decide before smaller ones, then those in more shards.
  std::vector<std::tuple<int64_t, int64_t, int, int>> order;
  for (int t = 0; t < count; ++t) {
    if (!IsSource(rule.tensors[t], round)) continue;
    const Shape& shape = *graph_.tensors()[rule.tensors[t]].shape;
    int64_t shards = 1;
    for (const AxisList& axes : projected_[t]) shards *= mesh_.Extent(axes);
    for (int f = 0; f < static_cast<int>(rule.rule.factors.size()); ++f) {
      if (projected_[t][f].empty()) continue;
      order.push_back({-ShapeUtil::ByteSizeOf(shape), -shards, t, f});
    }
  }
  absl::c_sort(order);
  for (const auto& [bytes, shards, source, f] : order) {
    const AxisList wanted = projected_[source][f];
    for (int t = 0; t < count; ++t) {
      if (t == source || Find(rule.rule.tensors[t], f).dim < 0 ||
          !IsTarget(rule, t, f, round)) {
        continue;
      }
      const AxisList own = projected_[t][f];
      if (own.size() >= wanted.size() || !Begins(own, wanted)) continue;
      AxisList taken = own;
      while (taken.size() < wanted.size() &&
             Accepts(rule, t, f, taken, wanted[taken.size()])) {
        taken.push_back(wanted[taken.size()]);
      }
      if (taken.size() > own.size()) {
        Extend(rule, t, f, own, taken, rule.tensors[source]);
      }
    }
  }
  return !changed_.empty();
}

void FactorSolver::MarkRulesOf(int tensor) {
  for (int rule : graph_.rules_of(tensor)) dirty_[rule] = true;
}

// Work list as dirty flags, swept alternately forwards and backwards, since
// shardings propagate both from producers to consumers and back.
bool FactorSolver::RunToFixedPoint(Round round, bool wanted) {
  const int count = static_cast<int>(graph_.rules().size());
  dirty_.assign(count, true);
  bool any = false;
  bool changed = true;
  // Sweeps with and against the order of the instructions, in turn.
  for (bool forward = true; changed; forward = !forward) {
    changed = false;
    for (int i = 0; i < count; ++i) {
      const int r = forward ? i : count - 1 - i;
      if (!dirty_[r]) continue;
      dirty_[r] = false;
      const RuleInstance& rule = graph_.rules()[r];
      if (!MayApply(rule, round)) continue;
      if (!(wanted ? ApplyWanted(rule, round) : ApplyAgreed(rule, round))) {
        continue;
      }
      for (int tensor : changed_) MarkRulesOf(tensor);
      changed = true;
      any = true;
    }
  }
  return any;
}

void FactorSolver::Solve() {
  for (Round round :
       {kFlowOneUse, kFlow, kPassThrough, kAllFactors, kAll, kConstants}) {
    // Where instructions mix several tensors, the largest one decides at once:
    // had its axes to wait, those of small ones (weights that are cut to save
    // memory) would settle on the results meanwhile.
    if (round < kPassThrough) RunToFixedPoint(round, /*wanted=*/false);
    while (RunToFixedPoint(round, /*wanted=*/true)) {
      RunToFixedPoint(round, /*wanted=*/false);
    }
  }
}

// After solving: rules whose tensors still disagree. The partitioner has to
// reshard there.
std::vector<FactorSolver::Divergence> FactorSolver::Divergences() const {
  std::vector<Divergence> result;
  for (size_t r = 0; r < graph_.rules().size(); ++r) {
    const RuleInstance& rule = graph_.rules()[r];
    if (!rule.goes_forward || !rule.goes_backward) continue;
    const FactorAxes axes = Project(rule);
    const int count = static_cast<int>(rule.tensors.size());
    bool found = false;
    for (int a = 0; a < count && !found; ++a) {
      for (int b = a + 1; b < count && !found; ++b) {
        for (size_t f = 0; f < rule.rule.factors.size() && !found; ++f) {
          const AxisList& of_a = axes[a][f];
          const AxisList& of_b = axes[b][f];
          bool diverge = !Begins(of_a, of_b) && !Begins(of_b, of_a);
          // One axis that both use, for different factors.
          for (int axis : of_a) {
            for (size_t g = 0; g < rule.rule.factors.size(); ++g) {
              diverge = diverge ||
                        (g != f && absl::c_linear_search(axes[b][g], axis));
            }
          }
          if (!diverge) continue;
          result.push_back({static_cast<int>(r), a, b});
          found = true;
        }
      }
    }
  }
  return result;
}

}  // namespace xla
