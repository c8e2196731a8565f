#include "xla/hlo/transforms/memory/remat_plan/remat_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "xla/hlo/transforms/memory/remat_plan/drop_pricing.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_exact.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_state.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Rounds of choices, each from the exact state that the last one led to.
constexpr int kMaxRounds = 40;

// How often a drop may be priced anew before it is given up.
constexpr int64_t kPricingsPerUse = 6;

// Of the search for small problems that nothing else has solved.
constexpr int64_t kMaxExactStates = 200'000;

struct Candidate {
  double price;
  ValueId value;
  int32_t use;

  bool operator>(const Candidate& other) const {
    return std::tie(price, value, use) >
           std::tie(other.price, other.value, other.use);
  }
};

// One round: drops values from a program until the limit is met, or nothing is
// left that frees memory.
class Round {
 public:
  Round(const RematProblem& problem, const RematTrace& trace, int64_t limit,
        int64_t segment_bytes)
      : problem_(problem),
        state_(problem, trace, limit),
        pricing_(problem, state_, limit, segment_bytes) {}

  // Returns the number of drops.
  int64_t Run() {
    if (state_.tree().over() == 0) return 0;
    FillHeap();
    int64_t drops = 0;
    int64_t pricings =
        kPricingsPerUse * static_cast<int64_t>(heap_.size()) + int64_t{1000};
    Drop drop;
    while (state_.tree().over() > 0 && !heap_.empty() && --pricings >= 0) {
      const Candidate top = heap_.top();
      heap_.pop();
      if (!pricing_.Price(top.value, top.use, price_, &drop)) continue;
      const double price = drop.price();
      if (!heap_.empty() && price > 1.02 * heap_.top().price + 1e-30) {
        heap_.push({price, top.value, top.use});
        continue;
      }
      price_ = std::max(price_, price);
      Apply(top.value, drop);
      ++drops;
    }
    return drops;
  }

  std::vector<NodeId> Program() const { return state_.Program(); }

 private:
  void Offer(ValueId value, int32_t use) {
    const int64_t bytes = state_.bytes(value);
    if (bytes == 0 || use >= state_.end_position()) return;
    const NodeId node = problem_.values[value].node;
    if (!problem_.nodes[node].recomputable) return;
    const int32_t run = state_.RunAtOrBefore(node, use);
    if (run < 0) return;
    const int64_t over =
        state_.tree()
            .Query(state_.UseBefore(value, run, use) + 1, use - 1)
            .over;
    if (over == 0) return;
    heap_.push({problem_.nodes[node].seconds /
                    (static_cast<double>(bytes) * static_cast<double>(over)),
                value, use});
  }

  void FillHeap() {
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const ValueId value = static_cast<ValueId>(v);
      for (int32_t use : state_.uses(value)) Offer(value, use);
    }
  }

  void Apply(ValueId value, const Drop& drop) {
    for (const Drop::Run& run : drop.runs) {
      if (run.moved_from >= 0) state_.Remove(run.node, run.moved_from);
      state_.Insert(run.node, drop.position);
    }
    state_.AddTransient(drop.position, drop.transient_bytes);
    state_.RemoveIfUseless(problem_.values[value].node, drop.old_run);
    // Gaps that the new readers leave, and those of what came earlier.
    for (const Drop::Run& run : drop.runs) {
      const RematProblem::Node& node = problem_.nodes[run.node];
      for (ValueId read : node.reads) Offer(read, drop.position);
      for (int32_t k = 0; k < node.value_count; ++k) {
        const ValueId made = node.first_value + k;
        const std::vector<int32_t>& uses = state_.uses(made);
        auto it = std::upper_bound(uses.begin(), uses.end(), drop.position + 1);
        if (it != uses.end() && *it < state_.end_position()) Offer(made, *it);
      }
    }
  }

  const RematProblem& problem_;
  RematState state_;
  DropPricing pricing_;
  double price_ = 0;
  std::priority_queue<Candidate, std::vector<Candidate>,
                      std::greater<Candidate>>
      heap_;
};

// Takes runs out again that the limit has room for.
class TakeBack {
 public:
  TakeBack(const RematProblem& problem, const RematTrace& trace, int64_t limit)
      : problem_(problem), state_(problem, trace, limit), limit_(limit) {}

  bool Run() {
    struct Repeat {
      double worth;
      NodeId node;
      int32_t position;
    };
    std::vector<Repeat> repeats;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const NodeId node = static_cast<NodeId>(n);
      const std::vector<int32_t>& runs = state_.runs(node);
      for (size_t i = 1; i < runs.size(); ++i) {
        const int64_t bytes = BytesToKeep(node, runs[i]);
        const double length = runs[i] - runs[i - 1];
        repeats.push_back({problem_.nodes[n].seconds /
                               (static_cast<double>(bytes) * length + 1),
                           node, runs[i]});
      }
    }
    std::stable_sort(
        repeats.begin(), repeats.end(),
        [](const Repeat& a, const Repeat& b) { return a.worth > b.worth; });
    bool changed = false;
    for (const Repeat& repeat : repeats) {
      changed |= Try(repeat.node, repeat.position);
    }
    return changed;
  }

  std::vector<NodeId> Program() const { return state_.Program(); }

 private:
  // Bytes of the values that are read from this run.
  int64_t BytesToKeep(NodeId node, int32_t position) const {
    const RematProblem::Node& info = problem_.nodes[node];
    int64_t bytes = 0;
    for (int32_t k = 0; k < info.value_count; ++k) {
      const ValueId value = info.first_value + k;
      if (state_.LastUse(value, position) > position) {
        bytes += state_.bytes(value);
      }
    }
    return bytes;
  }

  bool Try(NodeId node, int32_t position) {
    if (state_.RunAtOrBefore(node, position) != position) return false;
    const int32_t before = state_.RunAtOrBefore(node, position - 1);
    if (before < 0) return false;
    const RematProblem::Node& info = problem_.nodes[node];
    // From the end of each value to this run. All values at once is more than
    // needed where they end at different places; exact for one.
    int64_t bytes = 0;
    int32_t first = position;
    for (int32_t k = 0; k < info.value_count; ++k) {
      const ValueId value = info.first_value + k;
      if (state_.LastUse(value, position) == position) continue;
      bytes += state_.bytes(value);
      first = std::min(first, state_.LastUse(value, before) + 1);
    }
    const int32_t last = position - 1;
    if (first <= last && state_.tree().Max(first, last) > limit_ - bytes) {
      return false;
    }
    state_.Remove(node, position);
    for (ValueId value : info.reads) {
      const NodeId maker = problem_.values[value].node;
      const int32_t run = state_.RunAtOrBefore(maker, position);
      if (run >= 0) state_.RemoveIfUseless(maker, run);
    }
    return true;
  }

  const RematProblem& problem_;
  RematState state_;
  const int64_t limit_;
};

bool Better(const RematProgram& a, const RematProgram& b, int64_t limit) {
  const bool a_met = a.peak_bytes <= limit;
  const bool b_met = b.peak_bytes <= limit;
  if (a_met != b_met) return a_met;
  if (a_met) return a.seconds < b.seconds;
  if (a.peak_bytes != b.peak_bytes) return a.peak_bytes < b.peak_bytes;
  return a.seconds < b.seconds;
}

// Bytes over the limit, times steps.
double Excess(const RematTrace& trace, int64_t limit) {
  double excess = 0;
  for (int64_t live : trace.live) {
    if (live > limit) excess += static_cast<double>(live - limit);
  }
  return excess;
}

absl::StatusOr<RematProgram> RunVariant(const RematProblem& problem,
                                        std::vector<NodeId> program,
                                        int64_t limit, int64_t segment_bytes) {
  RematTrace trace;
  TF_RETURN_IF_ERROR(TraceProgram(problem, program, &trace));
  RematProgram best{program, trace.peak_bytes, trace.seconds};
  double excess = Excess(trace, limit);
  int stuck = 0;
  for (int round = 0; round < kMaxRounds && trace.peak_bytes > limit; ++round) {
    Round drops(problem, trace, limit, segment_bytes);
    if (drops.Run() == 0) break;
    program = RemoveUselessSteps(problem, drops.Program());
    TF_RETURN_IF_ERROR(TraceProgram(problem, program, &trace));
    const RematProgram now{program, trace.peak_bytes, trace.seconds};
    if (Better(now, best, limit)) best = now;
    const double new_excess = Excess(trace, limit);
    stuck = new_excess < 0.99 * excess ? 0 : stuck + 1;
    if (stuck >= 2) break;
    excess = std::min(excess, new_excess);
  }
  return best;
}

absl::StatusOr<RematProgram> TakeBackRuns(const RematProblem& problem,
                                          RematProgram program, int64_t limit) {
  // What cannot be met any more is no limit for what comes back.
  const int64_t bound = std::max(limit, program.peak_bytes);
  for (int round = 0; round < 8; ++round) {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem, program.steps, &trace));
    TakeBack take_back(problem, trace, bound);
    if (!take_back.Run()) break;
    std::vector<NodeId> steps =
        RemoveUselessSteps(problem, take_back.Program());
    TF_RETURN_IF_ERROR(TraceProgram(problem, steps, &trace));
    if (trace.peak_bytes > bound || trace.seconds > program.seconds) break;
    program = {std::move(steps), trace.peak_bytes, trace.seconds};
  }
  return program;
}

}  // namespace

absl::StatusOr<RematProgram> SearchProgram(const RematProblem& problem,
                                           absl::Span<const NodeId> start,
                                           const RematSearchOptions& options) {
  const int64_t limit = options.limit_bytes;
  std::vector<NodeId> first(start.begin(), start.end());
  RematTrace trace;
  TF_RETURN_IF_ERROR(TraceProgram(problem, first, &trace));
  RematProgram best{first, trace.peak_bytes, trace.seconds};
  if (best.peak_bytes <= limit) return best;
  const int variants = options.effort <= 0 ? 1 : 6;
  int64_t segment = std::numeric_limits<int64_t>::max() / 4;
  for (int variant = 0; variant < variants; ++variant) {
    TF_ASSIGN_OR_RETURN(RematProgram found,
                        RunVariant(problem, first, limit, segment));
    TF_ASSIGN_OR_RETURN(found, TakeBackRuns(problem, std::move(found), limit));
    if (Better(found, best, limit)) best = std::move(found);
    if (options.effort <= 1 && best.peak_bytes <= limit) break;
    // Of what there is beyond the bound that nothing goes below.
    segment = variant == 0 ? limit / 2 : segment / 2;
  }
  if (best.peak_bytes > limit && options.effort > 0 &&
      LowerBoundBytes(problem) <= limit) {
    std::optional<std::vector<NodeId>> exact =
        ExactProgram(problem, limit, kMaxExactStates);
    if (exact.has_value()) {
      std::vector<NodeId> steps = RemoveUselessSteps(problem, *exact);
      TF_RETURN_IF_ERROR(TraceProgram(problem, steps, &trace));
      best = {std::move(steps), trace.peak_bytes, trace.seconds};
    }
  }
  return best;
}

}  // namespace xla::remat_plan
