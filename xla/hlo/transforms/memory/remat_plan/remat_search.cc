#include "xla/hlo/transforms/memory/remat_plan/remat_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "xla/hlo/transforms/memory/remat_plan/drop_pricing.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_checkpoints.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_eager.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_evict.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_exact.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_state.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Rounds of choices, each from the exact state that the last one led to.
constexpr int kMaxRounds = 40;

// How often a drop may be priced anew before it is given up.
constexpr int64_t kPricingsPerUse = 6;

// Of the search for small problems that nothing else has solved; and what one
// state counts.
constexpr int64_t kMaxExactStates = 50'000;
constexpr int64_t kWorkOfState = 8;

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
        int64_t segment_bytes, int64_t* work)
      : problem_(problem),
        state_(problem, trace, limit),
        pricing_(problem, state_, limit, segment_bytes, work),
        work_(*work) {}

  // Returns the number of drops.
  int64_t Run() {
    if (state_.tree().over() == 0) return 0;
    FillHeap();
    int64_t drops = 0;
    int64_t pricings =
        kPricingsPerUse * static_cast<int64_t>(heap_.size()) + int64_t{1000};
    Drop drop;
    while (state_.tree().over() > 0 && !heap_.empty() && --pricings >= 0 &&
           work_ > 0) {
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
  int64_t& work_;
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

class Searcher {
 public:
  Searcher(const RematProblem& problem, absl::Span<const NodeId> start,
           const RematSearchOptions& options)
      : problem_(problem),
        start_(start.begin(), start.end()),
        reorder_(options.reorder),
        effort_(options.effort),
        bound_(LowerBoundBytes(problem)),
        limit_(std::max(options.limit_bytes, bound_)),
        work_(options.work != nullptr ? *options.work : no_end_) {}

  absl::StatusOr<RematProgram> Run() {
    // Each way has a part of the work, so that none keeps others from trying.
    TF_ASSIGN_OR_RETURN(best_, Trace(start_));
    seconds_ = best_.seconds;
    if (Met()) return best_;
    std::vector<NodeId> eager;
    if (reorder_) {
      work_ -= static_cast<int64_t>(start_.size());
      eager = EagerProgram(problem_, RemoveUselessSteps(problem_, start_));
      TF_ASSIGN_OR_RETURN(RematProgram program, Trace(eager));
      if (Better(program, best_, limit_)) best_ = std::move(program);
      if (Met()) return std::move(best_);
    }
    if (eager.empty() || eager == start_) {
      TF_RETURN_IF_ERROR(TryFromStart(2));
      return std::move(best_);
    }
    std::swap(eager, start_);
    TF_RETURN_IF_ERROR(TryFromStart(3));
    if (Met() && effort_ <= 1 && !IsCostly()) return std::move(best_);
    // As if the other order had not been there.
    std::swap(eager, start_);
    RematProgram in_other_order = std::move(best_);
    TF_ASSIGN_OR_RETURN(best_, Trace(start_));
    TF_RETURN_IF_ERROR(TryFromStart(2));
    if (Better(in_other_order, best_, limit_)) return in_other_order;
    return std::move(best_);
  }

 private:
  // All ways, each with a part of the work.
  absl::Status TryFromStart(int64_t parts) {
    int64_t reserve = work_ - work_ / parts;
    work_ -= reserve;
    TF_RETURN_IF_ERROR(TrySegments());
    work_ += reserve;
    if (effort_ > 0 && (!Met() || IsCostly())) {
      reserve = work_ / 2;
      work_ -= reserve;
      TF_RETURN_IF_ERROR(TryCheckpoints());
      work_ += reserve;
    }
    if ((!Met() || IsCostly()) && effort_ > 0) {
      TF_RETURN_IF_ERROR(TryExact());
    }
    if ((!Met() && effort_ > 0) || effort_ > 1) {
      TF_RETURN_IF_ERROR(TryEvicting());
    }
    return absl::OkStatus();
  }

  bool Met() const { return best_.peak_bytes <= limit_; }
  bool IsCostly() const { return best_.seconds > kCostly * seconds_; }

  absl::StatusOr<RematProgram> Trace(std::vector<NodeId> steps) const {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem_, steps, &trace));
    return RematProgram{std::move(steps), trace.peak_bytes, trace.seconds};
  }

  // Improves a program and takes it if it is the best.
  absl::Status Try(std::vector<NodeId> program, int64_t segment_bytes) {
    TF_ASSIGN_OR_RETURN(RematProgram found,
                        DropValues(std::move(program), segment_bytes));
    TF_ASSIGN_OR_RETURN(found,
                        TakeBackRuns(problem_, std::move(found), limit_));
    if (Better(found, best_, limit_)) best_ = std::move(found);
    return absl::OkStatus();
  }

  absl::Status TrySegments() {
    const int variants = effort_ <= 0 ? 1 : 6;
    int64_t segment = kNoSegments;
    for (int variant = 0; variant < variants && (variant == 0 || work_ > 0);
         ++variant) {
      TF_RETURN_IF_ERROR(Try(start_, segment));
      if (effort_ <= 1 && Met()) break;
      // Of what there is beyond the bound that nothing goes below.
      segment = variant == 0 ? limit_ / 2 : segment / 2;
    }
    return absl::OkStatus();
  }

  // Fewer and fewer bytes in a segment: more checkpoints, less to run again at
  // a time. Where none of that is enough, values go from what comes nearest.
  absl::Status TryCheckpoints() {
    RematTrace start;
    TF_RETURN_IF_ERROR(TraceProgram(problem_, start_, &start));
    const int64_t bytes = BytesBeforePeak(problem_, start);
    std::vector<std::pair<double, std::vector<NodeId>>> above;
    for (int parts : {2, 3, 4, 6, 8, 12, 16, 24, 32, 48}) {
      if (bytes / parts == 0) break;
      work_ -= start.step_count();
      std::vector<NodeId> program = RemoveUselessSteps(
          problem_, CheckpointedProgram(problem_, start, bytes / parts));
      RematTrace trace;
      TF_RETURN_IF_ERROR(TraceProgram(problem_, program, &trace));
      if (trace.peak_bytes <= limit_) {
        TF_RETURN_IF_ERROR(Try(std::move(program), kNoSegments));
      } else {
        above.emplace_back(Excess(trace, limit_), std::move(program));
      }
    }
    std::stable_sort(
        above.begin(), above.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    // Fewer of long programs: each takes a second then.
    int64_t left = std::max<int64_t>(1, kStepsOfTrials / start.step_count());
    for (auto& [excess, program] : above) {
      if (work_ <= 0 || --left < 0) break;
      const int64_t reserve = work_ / 3 * 2;
      work_ -= reserve;
      TF_RETURN_IF_ERROR(Try(std::move(program), kNoSegments));
      work_ += reserve;
    }
    return absl::OkStatus();
  }

  absl::Status TryEvicting() {
    for (EvictionPrice price :
         {EvictionPrice::kCostPerByteTime, EvictionPrice::kByteTime,
          EvictionPrice::kTime}) {
      int64_t aim = limit_;
      for (int attempt = 0; attempt < kEvictionAims && work_ > 0; ++attempt) {
        std::optional<std::vector<NodeId>> program =
            EvictingProgram(problem_, start_, aim, price, &work_);
        if (!program.has_value()) break;
        TF_ASSIGN_OR_RETURN(const RematProgram now,
                            Trace(RemoveUselessSteps(problem_, *program)));
        TF_RETURN_IF_ERROR(Try(now.steps, kNoSegments));
        // It does not count what stays for values that are made again.
        if (now.peak_bytes <= limit_) break;
        aim -= std::min(now.peak_bytes - limit_, (limit_ - bound_) / 2) + 1;
        if (aim < bound_) break;
      }
      if (effort_ <= 1 && Met()) break;
    }
    return absl::OkStatus();
  }

  absl::Status TryExact() {
    const int64_t states = std::min(kMaxExactStates, work_ / kWorkOfState);
    if (states <= 0) return absl::OkStatus();
    if (problem_.nodes.size() <= kMaxExactNodes) work_ -= states * kWorkOfState;
    std::optional<std::vector<NodeId>> exact =
        ExactProgram(problem_, limit_, states);
    if (!exact.has_value()) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(RematProgram program,
                        Trace(RemoveUselessSteps(problem_, *exact)));
    // Sums of the same seconds may differ in their last bits.
    if (!Met() || program.seconds < (1 - 1e-9) * best_.seconds) {
      best_ = std::move(program);
    }
    return absl::OkStatus();
  }

  // Rounds of drops until the limit is met or they get nowhere.
  absl::StatusOr<RematProgram> DropValues(std::vector<NodeId> program,
                                          int64_t segment_bytes) {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem_, program, &trace));
    RematProgram best{program, trace.peak_bytes, trace.seconds};
    double excess = Excess(trace, limit_);
    int stuck = 0;
    for (int round = 0;
         round < kMaxRounds && trace.peak_bytes > limit_ && work_ > 0;
         ++round) {
      work_ -= trace.step_count();
      Round drops(problem_, trace, limit_, segment_bytes, &work_);
      if (drops.Run() == 0) break;
      program = RemoveUselessSteps(problem_, drops.Program());
      TF_RETURN_IF_ERROR(TraceProgram(problem_, program, &trace));
      const RematProgram now{program, trace.peak_bytes, trace.seconds};
      if (Better(now, best, limit_)) best = now;
      const double new_excess = Excess(trace, limit_);
      stuck = new_excess < 0.99 * excess ? 0 : stuck + 1;
      if (stuck >= 2) break;
      excess = std::min(excess, new_excess);
    }
    return best;
  }

  static constexpr int64_t kNoSegments =
      std::numeric_limits<int64_t>::max() / 4;
  static constexpr int kEvictionAims = 3;
  static constexpr int64_t kStepsOfTrials = 20'000;
  // Times the seconds of the start: other ways are worth looking at.
  static constexpr double kCostly = 1.05;

  const RematProblem& problem_;
  std::vector<NodeId> start_;
  const bool reorder_;
  const int64_t effort_;
  const int64_t bound_;
  const int64_t limit_;
  int64_t no_end_ = std::numeric_limits<int64_t>::max();
  int64_t& work_;
  RematProgram best_;
  double seconds_ = 0;  // of the start
};

}  // namespace

absl::StatusOr<RematProgram> SearchProgram(const RematProblem& problem,
                                           absl::Span<const NodeId> start,
                                           const RematSearchOptions& options) {
  return Searcher(problem, start, options).Run();
}

}  // namespace xla::remat_plan
