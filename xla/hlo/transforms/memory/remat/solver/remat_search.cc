#include "xla/hlo/transforms/memory/remat/solver/remat_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "xla/hlo/transforms/memory/remat/solver/drop_pricing.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_checkpoints.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_eager.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_evict.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_exact.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_state.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_take_back.h"
#include "xla/status_macros.h"

// The search in layers, from the inside out:
//  - Round: greedy drops from one exact state. A heap holds every (value, use)
//    with its most optimistic price; the top is priced exactly (DropPricing)
//    when it comes up and goes back if it turns out more expensive than the
//    next one. Prices only rise as drops are applied, so this lazy evaluation
//    picks the same drop as pricing all candidates each time, up to a tolerance
//    of 2 %.
//  - DropValues: rounds until the limit is met. A Round works on a state that
//    over-approximates memory (see RematState), so each round starts from an
//    exact trace of the cleaned-up result of the last one.
//  - Try: DropValues, then TakeBackRuns, which removes recomputation that the
//    limit has room for after all. Keeps the best program seen.
//  - Searcher: different starting points and parameters for Try (segments,
//    checkpoints, eviction, exact search, an eager order), each with a share of
//    the work budget so that no strategy starves the others; then iterated
//    greedy improvement.
//
// `work_` counts elementary look-ups, not time, so results are deterministic.

namespace xla::remat_plan {
namespace {

// Rounds of choices, each from the exact state that the last one led to.
constexpr int kMaxRounds = 40;

// How often a drop may be priced anew before it is given up.
constexpr int64_t kPricingsPerUse = 6;

// Bounds of the exact search, for small problems that nothing else solved, and
// the work that one of its states counts.
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
  // Ends, too, when the program costs more than `most_seconds`.
  Round(const RematProblem& problem, const RematTrace& trace, int64_t limit,
        int64_t segment_bytes, double most_seconds, int64_t* work)
      : problem_(problem),
        state_(problem, trace, limit),
        pricing_(problem, state_, limit, segment_bytes, work),
        most_seconds_(most_seconds),
        work_(*work) {}

  // Returns the number of drops.
  // The number of pricings is bounded as well as the number of drops: a heap
  // that keeps returning candidates would otherwise not end.
  int64_t Run() {
    if (state_.tree().over() == 0) return 0;
    FillHeap();
    int64_t drops = 0;
    int64_t pricings =
        kPricingsPerUse * static_cast<int64_t>(heap_.size()) + int64_t{1000};
    Drop drop;
    while (state_.tree().over() > 0 && !heap_.empty() && --pricings >= 0 &&
           work_ > 0 && state_.seconds() <= most_seconds_) {
      const Candidate top = heap_.top();
      heap_.pop();
      if (!pricing_.Price(top.value, top.use, price_, &drop)) continue;
      const double price = drop.price();
      if (!heap_.empty() && price > 1.02 * heap_.top().price + 1e-30) {
        heap_.push({price, top.value, top.use});
        continue;
      }
      price_ = std::max(price_, drop.rate());
      Apply(top.value, drop);
      ++drops;
    }
    return drops;
  }

  std::vector<NodeId> Program() const { return state_.Program(); }

 private:
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>,
                                   std::greater<Candidate>>;

  // The best possible price of a drop: only the value's own node is recomputed
  // and the whole gap between the readers is relieved. A lower bound on the
  // exact price. `over` returns how many positions of a range are over the
  // limit.
  template <typename Over>
  std::optional<Candidate> Rate(ValueId value, int32_t use, Over over) const {
    const int64_t bytes = state_.bytes(value);
    if (bytes == 0 || use >= state_.end_position()) return std::nullopt;
    const NodeId node = problem_.values[value].node;
    if (!problem_.nodes[node].recomputable) return std::nullopt;
    const int32_t run = state_.RunAtOrBefore(node, use);
    if (run < 0) return std::nullopt;
    const int64_t points = over(state_.UseBefore(value, run, use) + 1, use - 1);
    if (points <= 0) return std::nullopt;
    return Candidate{
        problem_.nodes[node].seconds /
            (static_cast<double>(bytes) * static_cast<double>(points)),
        value, use};
  }

  void Offer(ValueId value, int32_t use) {
    std::optional<Candidate> candidate =
        Rate(value, use, [&](int32_t first, int32_t last) {
          return state_.tree().Query(first, last).over;
        });
    if (candidate.has_value()) heap_.push(*candidate);
  }

  // Prefix counts of positions over the limit make the initial heap linear;
  // later offers query the tree.
  void FillHeap() {
    const std::vector<int32_t> over_before = state_.tree().OverBefore();
    std::vector<Candidate> candidates;
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      const ValueId value = static_cast<ValueId>(v);
      for (int32_t use : state_.uses(value)) {
        std::optional<Candidate> candidate =
            Rate(value, use, [&](int32_t first, int32_t last) -> int64_t {
              return first > last ? 0
                                  : over_before[last + 1] - over_before[first];
            });
        if (candidate.has_value()) candidates.push_back(*candidate);
      }
    }
    heap_ = Heap(std::greater<Candidate>(), std::move(candidates));
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
        const RematState::Positions& uses = state_.uses(made);
        auto it = std::upper_bound(uses.begin(), uses.end(), drop.position + 1);
        if (it != uses.end() && *it < state_.end_position()) Offer(made, *it);
      }
    }
  }

  const RematProblem& problem_;
  RematState state_;
  DropPricing pricing_;
  const double most_seconds_;
  int64_t& work_;
  double price_ = 0;
  Heap heap_;
};

// A program that meets the limit beats one that does not; among those that meet
// it seconds decide, among the others the peak.
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
        room_bytes_(options.room_bytes),
        known_(options.known),
        useless_seconds_(options.useless_seconds),
        work_(options.work != nullptr ? *options.work : no_end_) {}

  absl::StatusOr<RematProgram> Run() {
    TF_ASSIGN_OR_RETURN(best_, Trace(start_));
    seconds_ = best_.seconds;
    hopeless_seconds_ = MostSeconds(useless_seconds_, kHope);
    if (Met()) return std::move(best_);
    // So that something is left for what is known already.
    const int64_t reserve = known_.empty() ? 0 : work_ / kPartOfImproving;
    work_ -= reserve;
    TF_RETURN_IF_ERROR(TryOrders());
    work_ += reserve;
    TF_RETURN_IF_ERROR(TryKnown());
    TF_RETURN_IF_ERROR(Improve());
    if (room_bytes_ <= limit_) return std::move(best_);
    return TakeBackRuns(problem_, std::move(best_), room_bytes_);
  }

 private:
  // An eager order, then the one at the start.
  absl::Status TryOrders() {
    std::vector<NodeId> eager;
    if (reorder_) {
      work_ -= static_cast<int64_t>(start_.size());
      eager = EagerProgram(problem_, RemoveUselessSteps(problem_, start_));
      TF_ASSIGN_OR_RETURN(RematProgram program, Trace(eager));
      if (Better(program, best_, limit_)) best_ = std::move(program);
      if (Met()) return absl::OkStatus();
    }
    // Each way has a part of the work, so that none keeps others from trying.
    if (eager.empty() || eager == start_) return TryFromStart(2);
    std::swap(eager, start_);
    TF_RETURN_IF_ERROR(TryFromStart(3));
    if (hopeless_ || (Met() && effort_ <= 1 && !IsCostly())) {
      return absl::OkStatus();
    }
    // As if the other order had not been there.
    std::swap(eager, start_);
    if (Met()) least_seconds_ = best_.seconds;
    RematProgram in_other_order = std::move(best_);
    TF_ASSIGN_OR_RETURN(best_, Trace(start_));
    TF_RETURN_IF_ERROR(TryFromStart(2));
    if (Better(in_other_order, best_, limit_))
      best_ = std::move(in_other_order);
    return absl::OkStatus();
  }

  // All ways, each with a part of the work.
  absl::Status TryFromStart(int64_t parts) {
    gave_up_ = false;
    int64_t reserve = work_ - work_ / parts;
    work_ -= reserve;
    TF_RETURN_IF_ERROR(TrySegments());
    work_ += reserve;
    if (hopeless_) return absl::OkStatus();
    if (effort_ > 0 && (!Met() || IsCostly())) {
      reserve = work_ / 2;
      work_ -= reserve;
      TF_RETURN_IF_ERROR(TryCheckpoints());
      work_ += reserve;
    }
    if ((!Met() || IsCostly()) && effort_ > 0) {
      TF_RETURN_IF_ERROR(TryExact());
    }
    if ((!Met() && !gave_up_ && effort_ > 0) || effort_ > 1) {
      TF_RETURN_IF_ERROR(TryEvicting());
    }
    return absl::OkStatus();
  }

  // Starts from the cheapest known program that fits, and from those that need
  // a little more: a few more drops cost less than finding all of them anew,
  // for which the work that is left may not suffice.
  absl::Status TryKnown() {
    std::vector<RematProgram> above;
    std::optional<RematProgram> fitting;
    for (const std::vector<NodeId>& steps : known_) {
      work_ -= static_cast<int64_t>(steps.size());
      absl::StatusOr<RematProgram> program = Trace(steps);
      if (!program.ok()) continue;
      if (program->peak_bytes > limit_) {
        above.push_back(*std::move(program));
      } else if (!fitting.has_value() || Better(*program, *fitting, limit_)) {
        fitting = *std::move(program);
      }
    }
    std::stable_sort(above.begin(), above.end(),
                     [](const RematProgram& a, const RematProgram& b) {
                       return a.peak_bytes < b.peak_bytes;
                     });
    if (above.size() > kKnownAbove) above.resize(kKnownAbove);
    if (fitting.has_value()) {
      if (Better(*fitting, best_, limit_)) best_ = *fitting;
      above.push_back(*std::move(fitting));
    }
    for (RematProgram& program : above) {
      if (work_ <= 0 || program.seconds > MostSeconds()) continue;
      hopeless_ = false;
      TF_RETURN_IF_ERROR(Try(std::move(program.steps), kNoSegments));
    }
    return absl::OkStatus();
  }

  // Iterated greedy: removes every kImproveParts-th recomputation, whatever
  // that needs, and fills the gap with new drops. Early drops were chosen while
  // the excess was large; for the small excess that is left others may be
  // cheaper. Stops when a full cycle saves less than kImproved of the seconds
  // added so far.
  absl::Status Improve() {
    for (int cycle = 0; cycle < kImproveCycles; ++cycle) {
      const double before = best_.seconds;
      for (int part = 0; part < kImproveParts; ++part) {
        if (work_ <= 0 || !IsWorthImproving()) return absl::OkStatus();
        TF_ASSIGN_OR_RETURN(
            std::optional<std::vector<NodeId>> program,
            WithoutPartOfRuns(problem_, best_.steps, part, kImproveParts));
        if (!program.has_value()) continue;
        TF_RETURN_IF_ERROR(Try(*std::move(program), kNoSegments));
      }
      if (before - best_.seconds < kImproved * (before - seconds_)) break;
    }
    return absl::OkStatus();
  }

  bool Met() const { return best_.peak_bytes <= limit_; }
  bool IsCostly() const { return best_.seconds > kCostly * seconds_; }
  bool IsWorthImproving() const {
    return effort_ > 0 && Met() && !hopeless_ &&
           best_.seconds > (IsSmall() ? 1 : kWorthImproving) * seconds_;
  }
  bool IsSmall() const { return problem_.nodes.size() <= kSmall; }

  // Bound on the cost of drops beyond which staying below `useless` is
  // hopeless: taking runs back makes up for a part.
  double MostSeconds() const {
    const double useless =
        Met() ? std::min(best_.seconds, least_seconds_) : least_seconds_;
    return std::min(MostSeconds(useless_seconds_, kHope),
                    MostSeconds(useless, 2 * kHope));
  }
  double MostSeconds(double useless, double hope) const {
    return seconds_ * (1 + 1e-9) + hope * std::max(0.0, useless - seconds_);
  }

  absl::StatusOr<RematProgram> Trace(std::vector<NodeId> steps) const {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem_, steps, &trace));
    return RematProgram{std::move(steps), trace.peak_bytes, trace.seconds};
  }

  // Improves a program and takes it if it is the best. `aim`: what is dropped
  // for, at most the limit.
  absl::Status Try(std::vector<NodeId> program, int64_t segment_bytes,
                   int64_t aim) {
    TF_ASSIGN_OR_RETURN(RematProgram found,
                        DropValues(std::move(program), segment_bytes, aim));
    if (!hopeless_) {
      TF_ASSIGN_OR_RETURN(found,
                          TakeBackRuns(problem_, std::move(found), limit_));
    }
    if (Better(found, best_, limit_)) best_ = std::move(found);
    return absl::OkStatus();
  }
  absl::Status Try(std::vector<NodeId> program, int64_t segment_bytes) {
    return Try(std::move(program), segment_bytes, limit_);
  }

  absl::Status TrySegments() {
    const int variants = effort_ <= 0 ? 1 : 6;
    int64_t segment = kNoSegments;
    for (int variant = 0; variant < variants && (variant == 0 || work_ > 0);
         ++variant) {
      TF_RETURN_IF_ERROR(Try(start_, segment));
      if (hopeless_) break;
      if (variant == 0 && effort_ > 0) TF_RETURN_IF_ERROR(TryLower());
      if (effort_ <= 1 && Met()) break;
      // Segments for the next attempt: half the limit, then half of that, and
      // so on.
      segment = variant == 0 ? limit_ / 2 : segment / 2;
    }
    return absl::OkStatus();
  }

  // Plans for limits below the real one. Recomputation that needs a lot of
  // memory itself is then placed elsewhere, and the result may fit the real
  // limit. Large values that would be dropped last, when small ones have been
  // in vain, come first where more has to go; what the limit has room for is
  // taken back.
  absl::Status TryLower() {
    const int64_t excess = best_.peak_bytes - limit_;
    if (excess > 0 && work_ > 0) {
      TF_RETURN_IF_ERROR(Try(start_, kNoSegments,
                             std::max(bound_, limit_ - excess - excess / 2)));
    }
    for (int part : {16, 8, 4}) {
      const int64_t lower = (limit_ - bound_) / part;
      if (work_ <= 0 || hopeless_ || lower == 0 || (Met() && !IsCostly())) {
        break;
      }
      TF_RETURN_IF_ERROR(Try(start_, kNoSegments, limit_ - lower));
    }
    return absl::OkStatus();
  }

  // Checkpointing with finer and finer segments: more checkpoints, and less to
  // recompute at a time. Programs that fit are improved at once. Of those that
  // do not, the ones nearest to the limit serve as starting points for drops.
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
      } else if (trace.seconds <= MostSeconds()) {
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

  // Simulated eviction under three price functions. Eviction does not account
  // for operands kept for recomputation, so a program may exceed the limit it
  // was built for; the aim is then lowered by that excess and the simulation
  // repeated.
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
        // Values that stay for the sake of recomputed ones are not counted.
        if (now.peak_bytes <= limit_) break;
        aim -= std::min(now.peak_bytes - limit_, (limit_ - bound_) / 2) + 1;
        if (aim < bound_) break;
      }
      if (effort_ <= 1 && Met()) break;
    }
    return absl::OkStatus();
  }

  // Shortest path for small problems. Does nothing if the problem is too large
  // or the state budget runs out before optimality is proved.
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
                                          int64_t segment_bytes, int64_t aim) {
    RematTrace trace;
    TF_RETURN_IF_ERROR(TraceProgram(problem_, program, &trace));
    RematProgram best{program, trace.peak_bytes, trace.seconds};
    double excess = Excess(trace, aim);
    int stuck = 0;
    for (int round = 0; round < kMaxRounds && trace.peak_bytes > limit_ &&
                        work_ > 0 && trace.seconds <= MostSeconds();
         ++round) {
      work_ -= trace.step_count();
      Round drops(problem_, trace, aim, segment_bytes, MostSeconds(), &work_);
      if (drops.Run() == 0) break;
      program = RemoveUselessSteps(problem_, drops.Program());
      TF_RETURN_IF_ERROR(TraceProgram(problem_, program, &trace));
      const RematProgram now{program, trace.peak_bytes, trace.seconds};
      if (Better(now, best, limit_)) best = now;
      const double new_excess = Excess(trace, aim);
      stuck = new_excess < 0.99 * excess ? 0 : stuck + 1;
      if (stuck >= 2) break;
      excess = std::min(excess, new_excess);
    }
    const bool missed = best.peak_bytes > limit_;
    gave_up_ |= missed && trace.seconds > MostSeconds();
    hopeless_ |= missed && trace.seconds > hopeless_seconds_;
    return best;
  }

  static constexpr int64_t kNoSegments =
      std::numeric_limits<int64_t>::max() / 4;
  static constexpr int kEvictionAims = 3;
  static constexpr int64_t kStepsOfTrials = 20'000;
  // Above this multiple of the initial run time, other search strategies are
  // tried.
  static constexpr double kCostly = 1.05;
  // Above this multiple of the initial run time, the program is improved
  // further; small problems always are.
  static constexpr double kWorthImproving = 1.02;
  static constexpr size_t kSmall = 2000;
  // Part of the work that is left for known programs and improvements, and how
  // many known ones that exceed the limit are tried.
  static constexpr int64_t kPartOfImproving = 4;
  static constexpr size_t kKnownAbove = 2;
  static constexpr int kImproveParts = 4;
  static constexpr int kImproveCycles = 3;
  // Part of the seconds added that another cycle is worth.
  static constexpr double kImproved = 0.01;
  // Factor on the seconds that may be added.
  static constexpr double kHope = 1.5;

  const RematProblem& problem_;
  std::vector<NodeId> start_;
  const bool reorder_;
  const int64_t effort_;
  const int64_t bound_;
  const int64_t limit_;
  const int64_t room_bytes_;
  const absl::Span<const std::vector<NodeId>> known_;
  double useless_seconds_;
  int64_t no_end_ = std::numeric_limits<int64_t>::max();
  int64_t& work_;
  RematProgram best_;
  double seconds_ = 0;  // of the start
  double hopeless_seconds_ = 0;
  // All that is to be expected is of no use to the caller.
  bool hopeless_ = false;
  // Seconds of what is known besides best_, for another order.
  double least_seconds_ = std::numeric_limits<double>::infinity();
  bool gave_up_ = false;
};

}  // namespace

absl::StatusOr<RematProgram> SearchProgram(const RematProblem& problem,
                                           absl::Span<const NodeId> start,
                                           const RematSearchOptions& options) {
  return Searcher(problem, start, options).Run();
}

}  // namespace xla::remat_plan
