#include "xla/hlo/transforms/memory/remat_plan/remat_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/transforms/memory/remat_plan/module_contents.h"
#include "xla/hlo/transforms/memory/remat_plan/module_variant.h"
#include "xla/hlo/transforms/memory/remat_plan/nested_plan.h"
#include "xla/hlo/transforms/memory/remat_plan/remat_frontier.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_accounting.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::Candidate;
using remat_plan::Frontier;
using remat_plan::MakeCostAnalysis;
using remat_plan::ModuleVariant;
using remat_plan::NestedPlanner;
using remat_plan::Outcome;

int64_t InstructionCount(const HloModule& module) {
  int64_t count = 0;
  for (const HloComputation* computation : module.computations()) {
    count += computation->instruction_count();
  }
  return count;
}

// A module after the rewrites of a variant, and what is known of it.
struct Prepared {
  ModuleVariant variant;
  std::unique_ptr<HloModule> rewritten;
  const HloModule* module = nullptr;
  Outcome outcome;
  std::unique_ptr<HloCostAnalysis> cost;
  std::unique_ptr<NestedPlanner> planner;
  // Of the peak, what the planner's problems leave out; and the most of it that
  // a plan has shown.
  int64_t uncounted_bytes = 0;
  int64_t most_uncounted_bytes = 0;
  int64_t lower_bound_bytes = 0;
  // Seconds of the plan for the target: infinite if it is not met.
  std::optional<double> seconds_for_limit;
};

class Planner {
 public:
  Planner(HloModule* module, const RematPlanOptions& options)
      : module_(module), options_(options), target_(options.limit_bytes) {}

  absl::StatusOr<RematPlanResult> Run() {
    if (options_.limit_bytes < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a limit of ", options_.limit_bytes, " bytes is no limit"));
    }
    if (!module_->has_schedule()) {
      return absl::FailedPreconditionError(
          absl::StrCat("module ", module_->name(), " has no schedule"));
    }
    TF_RETURN_IF_ERROR(module_->schedule().Verify());
    TF_RETURN_IF_ERROR(DescribeBefore());
    if (result_.peak_before_bytes > options_.limit_bytes) {
      TF_RETURN_IF_ERROR(TryAll());
    }
    TF_RETURN_IF_ERROR(DescribeAfter());
    // From here on nothing fails that depends on the module.
    if (best_module_ != nullptr) {
      TF_RETURN_IF_ERROR(
          remat_plan::ReplaceContents(std::move(best_module_), module_));
      result_.changed = true;
    }
    return std::move(result_);
  }

 private:
  absl::StatusOr<int64_t> Peak(const HloModule& module) const {
    if (options_.peak) return options_.peak(module);
    TF_ASSIGN_OR_RETURN(
        RematPeak peak,
        ComputeRematPeak(module, module.schedule(), options_.sizes));
    return peak.bytes;
  }

  // The caller's accounting may let results take the memory of operands.
  int64_t LowerBound(const HloModule& module, NestedPlanner& planner) const {
    const int64_t output_bytes = RematOutputBytes(module, options_.sizes);
    if (!options_.peak) return planner.LowerBound() + output_bytes;
    return std::max(planner.LowerBound(/*in_place=*/true), output_bytes);
  }

  absl::StatusOr<Outcome> OutcomeOf(const HloModule& module) const {
    TF_ASSIGN_OR_RETURN(int64_t peak, Peak(module));
    TF_ASSIGN_OR_RETURN(RematWork work,
                        ComputeRematWork(module, options_.device));
    return Outcome{peak, work};
  }

  absl::Status DescribeBefore() {
    prepared_.push_back(std::make_unique<Prepared>());
    Prepared* base = prepared_.back().get();
    base->module = module_;
    TF_RETURN_IF_ERROR(Analyze(base));
    best_ = base->outcome;
    result_.peak_before_bytes = best_.peak_bytes;
    result_.work_before = best_.work;
    result_.instructions_before = InstructionCount(*module_);
    result_.lower_bound_bytes = LowerBound(*module_, *base->planner);
    base->lower_bound_bytes = result_.lower_bound_bytes;
    result_.method = "none";
    return absl::OkStatus();
  }

  absl::Status DescribeAfter() {
    const HloModule& module =
        best_module_ != nullptr ? *best_module_ : *module_;
    result_.peak_after_bytes = best_.peak_bytes;
    result_.work_after = best_.work;
    result_.instructions_after = InstructionCount(module);
    result_.met = result_.peak_after_bytes <= options_.limit_bytes;
    if (!result_.met) {
      TF_ASSIGN_OR_RETURN(result_.binding,
                          FindBindingBuffers(module, options_.sizes));
    }
    return absl::OkStatus();
  }

  static bool Better(const Outcome& a, const Outcome& b, int64_t limit) {
    const bool a_met = a.peak_bytes <= limit;
    const bool b_met = b.peak_bytes <= limit;
    if (a_met != b_met) return a_met;
    if (!a_met && a.peak_bytes != b.peak_bytes) {
      return a.peak_bytes < b.peak_bytes;
    }
    return a.work.seconds < b.work.seconds;
  }

  bool IsBest(const Outcome& outcome) const {
    return Better(outcome, best_, target_);
  }

  // Whether all that is found is kept for all limits.
  bool HasCurve() const { return options_.effort > 0 && IsTiny(); }

  void Take(Candidate* candidate) {
    best_ = candidate->outcome;
    result_.method = candidate->method;
    lender_ = candidate->lender;
    best_module_ = std::move(candidate->module);
  }

  void Offer(Candidate candidate) {
    const bool is_best = IsBest(candidate.outcome);
    if (!HasCurve()) {
      if (is_best) Take(&candidate);
      return;
    }
    if (is_best) best_ = candidate.outcome;
    frontier_.Offer(std::move(candidate));
  }

  // Applies a plan to a copy of the prepared module.
  absl::StatusOr<std::unique_ptr<HloModule>> Apply(
      const Prepared& prepared, const NestedPlanner::Plan& plan) const {
    std::unique_ptr<HloModule> copy = prepared.module->Clone("");
    remat_plan::ApplyOptions apply;
    apply.optimization_barriers = options_.optimization_barriers;
    TF_RETURN_IF_ERROR(prepared.planner->ApplyToClone(plan, apply, copy.get()));
    // What only instructions called that run no more: bodies of fusions.
    TF_RETURN_IF_ERROR(copy->RemoveUnusedComputations());
    TF_RETURN_IF_ERROR(copy->schedule().Update());
    TF_RETURN_IF_ERROR(copy->schedule().Verify());
    return copy;
  }

  // Peak, cost and problems of the module.
  absl::Status Analyze(Prepared* made) {
    made->cost = MakeCostAnalysis(options_.device);
    TF_RETURN_IF_ERROR(
        made->module->entry_computation()->Accept(made->cost.get()));
    TF_ASSIGN_OR_RETURN(made->outcome.peak_bytes, Peak(*made->module));
    made->outcome.work = RematWorkOf(*made->cost);
    auto planner = std::make_unique<NestedPlanner>(
        *made->module, *made->cost, options_.sizes, options_.effort,
        options_.reschedule, /*in_place=*/options_.peak != nullptr, &work_);
    TF_ASSIGN_OR_RETURN(
        const NestedPlanner::Plan as_is,
        planner->PlanEntry(std::numeric_limits<int64_t>::max()));
    made->uncounted_bytes = made->outcome.peak_bytes - as_is.peak_bytes;
    made->most_uncounted_bytes = made->uncounted_bytes;
    made->planner = std::move(planner);
    return absl::OkStatus();
  }

  // Rewrites a copy of the module, once per variant.
  absl::StatusOr<Prepared*> Prepare(const ModuleVariant& variant) {
    for (const std::unique_ptr<Prepared>& known : prepared_) {
      if (!(known->variant == variant)) continue;
      if (known->planner != nullptr) return known.get();
      return absl::FailedPreconditionError("was not possible before");
    }
    prepared_.push_back(std::make_unique<Prepared>());
    Prepared* made = prepared_.back().get();
    made->variant = variant;
    made->rewritten = module_->Clone("");
    made->module = made->rewritten.get();
    TF_RETURN_IF_ERROR(remat_plan::PrepareVariant(
        variant, options_.device, options_.move_out, made->rewritten.get()));
    TF_RETURN_IF_ERROR(Analyze(made));
    result_.lower_bound_bytes = std::min(
        result_.lower_bound_bytes, LowerBound(*made->module, *made->planner));
    return made;
  }

  // Modules in which what a lower limit may bring by chance is not looked for.
  bool IsLarge() const { return result_.instructions_before > kLarge; }

  // Modules in which plans for many limits take no time.
  bool IsTiny() const { return result_.instructions_before < kTiny; }

  // What a plan of no use costs, in seconds.
  double UselessSeconds() const {
    return best_.peak_bytes <= target_
               ? best_.work.seconds
               : std::numeric_limits<double>::infinity();
  }

  // Finds programs for a prepared module and tries them out; returns the best
  // outcome for the caller's limit. The abstract problem leaves small tables
  // out, and may count in another way than `peak` does: aims lower by what is
  // too much, a few times. Plans that cost no less than the best one are not
  // tried out. For a lower limit than the caller's, what is found may need as
  // much as that.
  absl::StatusOr<Outcome> FindPrograms(int64_t limit, Prepared* prepared) {
    Outcome best = prepared->outcome;
    Offer({best, prepared->variant.Name(), nullptr, &prepared->rewritten});
    const double useless_seconds = UselessSeconds() - best.work.seconds;
    if (best.peak_bytes <= limit || useless_seconds <= 0) return best;
    if (limit < target_ && IsLarge() && !std::isinf(useless_seconds) &&
        prepared->seconds_for_limit.value_or(0) >= UselessSeconds()) {
      return best;
    }
    work_ = std::min(kWorkOfVariant,
                     kWorkOfInstruction * result_.instructions_before) *
            std::max<int64_t>(options_.effort, 1);
    const int64_t work_before = work_;
    int64_t aim = limit - prepared->uncounted_bytes;
    for (int attempt = 0; attempt < kAims; ++attempt) {
      aim = std::max<int64_t>(aim, 0);
      TF_ASSIGN_OR_RETURN(
          NestedPlanner::Plan plan,
          prepared->planner->PlanEntry(
              aim, useless_seconds,
              limit < target_ ? target_ - prepared->most_uncounted_bytes : 0));
      const double added_seconds = plan.added_seconds - plan.launch_seconds;
      Outcome untried{plan.peak_bytes + prepared->uncounted_bytes,
                      prepared->outcome.work};
      untried.work.seconds += added_seconds;
      // What misses a lower limit may be the best for the caller's.
      if (added_seconds >= useless_seconds ||
          (untried.peak_bytes > target_ && !std::isinf(useless_seconds))) {
        if (Better(untried, best, target_)) best = untried;
        break;
      }
      TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> copy,
                          Apply(*prepared, plan));
      TF_ASSIGN_OR_RETURN(Outcome outcome, OutcomeOf(*copy));
      prepared->most_uncounted_bytes = std::max(
          prepared->most_uncounted_bytes, outcome.peak_bytes - plan.peak_bytes);
      if (Better(outcome, best, target_)) best = outcome;
      Offer({outcome, prepared->variant.Name(), std::move(copy)});
      const int64_t excess = outcome.peak_bytes - limit;
      if (excess <= 0 || plan.peak_bytes > aim || aim == 0) break;
      // What it counts elsewhere is known now; where that is not enough, more,
      // and not only by a few bytes.
      aim -= excess +
             (attempt == 0 ? 0 : std::max(excess / 4, limit / kLeastStep));
    }
    spent_ += work_before - work_ + kWorkOfTrial * result_.instructions_before;
    if (limit == target_) {
      prepared->seconds_for_limit =
          best.peak_bytes <= limit ? best.work.seconds
                                   : std::numeric_limits<double>::infinity();
    }
    return best;
  }

  // All variants for one limit, one part of them after the other, each beside
  // the best of the ones before.
  class Variants {
   public:
    Variants(Planner* planner, int64_t limit)
        : planner_(*planner),
          limit_(limit),
          best_(planner->prepared_.front()->outcome) {}

    absl::Status Run() {
      const RematPlanOptions& options = planner_.options_;
      // Fusions cost less than nothing: what they make room for is free, and
      // nothing else has to be looked at where that is enough.
      if (options.fuse && options.effort > 0) {
        ModuleVariant variant;
        variant.fuse_part = kFuseParts[0];
        TF_RETURN_IF_ERROR(Try(variant));
      }
      TF_RETURN_IF_ERROR(Try({}, /*always=*/true));
      if (options.effort < 1 || GoodEnough()) return absl::OkStatus();
      if (options.across_loops) {
        TF_RETURN_IF_ERROR(planner_.FindLoopVariants());
        TF_RETURN_IF_ERROR(TryLoops());
      }
      if (options.reschedule) TF_RETURN_IF_ERROR(TryOtherOrder());
      if (options.fuse) {
        for (int part : kFuseParts) {
          ModuleVariant variant = best_variant_;
          variant.fuse_part = part;
          TF_RETURN_IF_ERROR(Try(variant));
        }
        // Other values bind now.
        if (best_variant_.fuse_part > 0) {
          TF_RETURN_IF_ERROR(TryLoops());
          if (options.reschedule) TF_RETURN_IF_ERROR(TryOtherOrder());
        }
      }
      if (!options.move_out) return absl::OkStatus();
      ModuleVariant variant = best_variant_;
      variant.move_out_limit = limit_;
      return Try(variant);
    }

    bool Met() const { return best_.peak_bytes <= planner_.target_; }
    const ModuleVariant& best_variant() const { return best_variant_; }

    // Whether other variants, or lower limits, are not worth looking at: in
    // large modules only. In others, what they bring at a lower limit they are
    // to bring here, too.
    bool GoodEnough() const {
      const RematPlanOptions& options = planner_.options_;
      if (options.effort < 1) return true;
      return options.effort == 1 && Met() && planner_.IsLarge() &&
             best_.work.seconds <=
                 kGoodEnough * planner_.result_.work_before.seconds;
    }

   private:
    // What one variant cannot do, others can: only the base, which rewrites
    // nothing, must not fail.
    absl::Status Try(const ModuleVariant& variant, bool always = false) {
      const bool base = variant == ModuleVariant();
      if (!always && GoodEnough()) return absl::OkStatus();
      if (limit_ < planner_.target_ && planner_.spent_ > kWorkOfRungs) {
        return absl::OkStatus();
      }
      if (std::find(tried_.begin(), tried_.end(), variant) != tried_.end()) {
        return absl::OkStatus();
      }
      tried_.push_back(variant);
      absl::StatusOr<Prepared*> prepared = planner_.Prepare(variant);
      if (!prepared.ok()) return base ? prepared.status() : absl::OkStatus();
      absl::StatusOr<Outcome> found = planner_.FindPrograms(limit_, *prepared);
      if (!found.ok()) return base ? found.status() : absl::OkStatus();
      if (Better(*found, best_, planner_.target_)) {
        best_ = *found;
        best_variant_ = variant;
      }
      return absl::OkStatus();
    }

    absl::Status TryLoops() {
      const ModuleVariant beside = best_variant_;
      for (ModuleVariant variant : planner_.loop_variants_) {
        variant.fuse_part = beside.fuse_part;
        variant.reschedule = beside.reschedule;
        TF_RETURN_IF_ERROR(Try(variant));
      }
      return absl::OkStatus();
    }

    absl::Status TryOtherOrder() {
      ModuleVariant variant = best_variant_;
      variant.reschedule = true;
      return Try(variant);
    }

    Planner& planner_;
    const int64_t limit_;
    std::vector<ModuleVariant> tried_;
    ModuleVariant best_variant_;
    Outcome best_;
  };

  absl::Status FindLoopVariants() {
    if (knows_loop_variants_) return absl::OkStatus();
    knows_loop_variants_ = true;
    TF_ASSIGN_OR_RETURN(loop_variants_,
                        remat_plan::LoopVariants(*module_, options_.device));
    return absl::OkStatus();
  }

  // Limits that are always the same ones, so that plans for them serve others,
  // the highest first: shares of the peak, as percentages say them.
  std::vector<int64_t> Rungs() const {
    const int64_t peak = result_.peak_before_bytes;
    std::vector<int64_t> rungs;
    for (int tenths = 9; tenths > 0; --tenths) {
      rungs.push_back(static_cast<int64_t>(10.0 * tenths / 100 *
                                           static_cast<double>(peak)));
    }
    return rungs;
  }

  // A plan for a lower limit may cost less, as variants that it needs may.
  absl::Status TryLowerLimits(bool good_enough) {
    if (options_.effort < 1 || good_enough) return absl::OkStatus();
    for (int64_t rung : Rungs()) {
      if (rung >= target_) continue;
      if (rung < result_.lower_bound_bytes || spent_ > kWorkOfRungs) break;
      const double before = best_.work.seconds;
      Variants lower(this, rung);
      TF_RETURN_IF_ERROR(lower.Run());
      // Where these cost no less, those for still lower limits do not, either.
      if (!lower.Met() || best_.work.seconds >= before) break;
    }
    return absl::OkStatus();
  }

  // What costs much may cost less a little below the limit.
  absl::Status TryJustBelow(const ModuleVariant& variant) {
    if (options_.effort < 1 || IsLarge() ||
        best_.work.seconds <= kCostly * result_.work_before.seconds) {
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(Prepared * prepared, Prepare(variant));
    const int64_t room = target_ - result_.lower_bound_bytes;
    for (int part = 4; part <= 64; part *= 2) {
      TF_RETURN_IF_ERROR(
          FindPrograms(target_ - room / part, prepared).status());
    }
    return absl::OkStatus();
  }

  // One for another limit may need less than what misses this one.
  absl::Status TryOtherLimits(const ModuleVariant& variant) {
    if (options_.effort < 1) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(Prepared * prepared, Prepare(variant));
    const std::vector<int64_t> rungs = Rungs();
    for (int64_t rung : rungs) {
      if (rung >= target_) continue;
      if (rung < result_.lower_bound_bytes) break;
      TF_RETURN_IF_ERROR(FindPrograms(rung, prepared).status());
      if (best_.peak_bytes <= target_) return absl::OkStatus();
    }
    for (int64_t rung : rungs) {
      if (rung >= best_.peak_bytes) continue;
      if (rung <= target_) break;
      TF_RETURN_IF_ERROR(FindPrograms(rung, prepared).status());
    }
    return Descend(prepared);
  }

  // Halves what lies between the lower bound and the least peak: by the same
  // limits, whichever one is missed.
  absl::Status Descend(Prepared* prepared) {
    int64_t missed = prepared_.front()->lower_bound_bytes;
    for (int step = 0; step < kSteps && best_.peak_bytes - missed > 1; ++step) {
      if (best_.peak_bytes <= target_) break;
      if (IsLarge() && spent_ > kWorkOfRungs) break;
      const int64_t limit = missed + (best_.peak_bytes - missed) / 2;
      TF_RETURN_IF_ERROR(FindPrograms(limit, prepared).status());
      if (best_.peak_bytes > limit) missed = limit;
    }
    return absl::OkStatus();
  }

  // What plans are compared for, beside those known.
  void SetTarget(int64_t limit) {
    target_ = limit;
    Candidate* best = frontier_.BestFor(limit);
    best_ = best != nullptr ? best->outcome : prepared_.front()->outcome;
    for (auto& prepared : prepared_) prepared->seconds_for_limit.reset();
  }

  // Limits from `from_bytes`, without it, down to `to_bytes`.
  static std::vector<int64_t> CurveRungs(int64_t from_bytes, int64_t to_bytes) {
    const double room = static_cast<double>(from_bytes - to_bytes);
    std::vector<int64_t> rungs;
    for (int k = kCurveRungs - 1; k >= 0 && room > 0; --k) {
      const int64_t rung =
          to_bytes + static_cast<int64_t>(room * k / kCurveRungs);
      if (rungs.empty() || rungs.back() != rung) rungs.push_back(rung);
    }
    return rungs;
  }

  // Each beside those for the limits before. Ends where `*missed` limits in a
  // row are too many.
  absl::Status PlanForRungs(const std::vector<int64_t>& rungs, int* missed) {
    for (int64_t rung : rungs) {
      if (*missed >= kMissedRungs || spent_ > kWorkOfCurve) break;
      SetTarget(rung);
      TF_RETURN_IF_ERROR(Variants(this, rung).Run());
      *missed = best_.peak_bytes <= rung ? 0 : *missed + 1;
    }
    return absl::OkStatus();
  }

  // Searches plans for limits that do not depend on the caller's: whoever asks
  // for a lower limit chooses among the same plans.
  absl::Status FillCurve() {
    const int64_t bound = prepared_.front()->lower_bound_bytes;
    std::vector<int64_t> rungs = CurveRungs(result_.peak_before_bytes, bound);
    // Where there is nothing to gain, variants are tried once all the same.
    if (rungs.empty()) rungs.push_back(bound);
    int missed = 0;
    TF_RETURN_IF_ERROR(PlanForRungs(rungs, &missed));
    // Others of the variants may go below what bounds the module as it is.
    const std::vector<int64_t> below =
        CurveRungs(bound, result_.lower_bound_bytes);
    TF_RETURN_IF_ERROR(PlanForRungs(below, &missed));
    rungs.insert(rungs.end(), below.begin(), below.end());
    SetTarget(options_.limit_bytes);
    if (best_.peak_bytes > options_.limit_bytes && spent_ <= kWorkOfCurve) {
      TF_RETURN_IF_ERROR(ExtendCurve(rungs));
    }
    // Where all of that takes too long, this limit may not have come up.
    if (spent_ <= kWorkOfCurve) return absl::OkStatus();
    return Variants(this, options_.limit_bytes).Run();
  }

  // Looks for less memory than the curve has so far, whatever it costs: by
  // plans for the limits just above, and then by halves.
  absl::Status ExtendCurve(const std::vector<int64_t>& rungs) {
    SetTarget(0);
    const int64_t reached = best_.peak_bytes;
    int above = 0;
    for (auto rung = rungs.rbegin(); rung != rungs.rend(); ++rung) {
      if (*rung < reached) continue;
      if (++above > kRungsAbove) break;
      TF_RETURN_IF_ERROR(Variants(this, *rung).Run());
    }
    int64_t missed = result_.lower_bound_bytes;
    for (int step = 0; step < kSteps && best_.peak_bytes - missed > 1; ++step) {
      const int64_t limit = missed + (best_.peak_bytes - missed) / 2;
      TF_RETURN_IF_ERROR(Variants(this, limit).Run());
      if (best_.peak_bytes > limit) missed = limit;
    }
    SetTarget(options_.limit_bytes);
    return absl::OkStatus();
  }

  // For the caller's limit, beside ones for lower limits, or for others.
  absl::Status TryLimit() {
    Variants variants(this, target_);
    TF_RETURN_IF_ERROR(variants.Run());
    TF_RETURN_IF_ERROR(variants.Met()
                           ? TryLowerLimits(variants.GoodEnough())
                           : TryOtherLimits(variants.best_variant()));
    return variants.Met() ? TryJustBelow(variants.best_variant())
                          : absl::OkStatus();
  }

  absl::Status TryAll() {
    TF_RETURN_IF_ERROR(HasCurve() ? FillCurve() : TryLimit());
    for (const auto& [name, rewrite] : options_.others) {
      // What only computes again costs something.
      if (best_.peak_bytes <= target_ &&
          best_.work.seconds <= result_.work_before.seconds) {
        break;
      }
      std::unique_ptr<HloModule> copy = module_->Clone("");
      if (!rewrite(copy.get()).ok()) continue;
      TF_ASSIGN_OR_RETURN(Outcome outcome, OutcomeOf(*copy));
      Offer({outcome, name, std::move(copy)});
    }
    if (HasCurve()) Take(frontier_.BestFor(target_));
    if (lender_ != nullptr) best_module_ = std::move(*lender_);
    // More work for no less memory is no help.
    if (best_.peak_bytes >= result_.peak_before_bytes) {
      best_module_.reset();
      best_ = {result_.peak_before_bytes, result_.work_before};
      result_.method = "none";
    }
    return absl::OkStatus();
  }

  static constexpr int kAims = 4;
  static constexpr int64_t kLeastStep = 512;  // part of the limit
  static constexpr int kSteps = 6;
  // Instructions.
  static constexpr int64_t kLarge = 5000;
  static constexpr int64_t kTiny = 500;
  static constexpr int kCurveRungs = 20;
  // One after the other, before no more are looked at.
  static constexpr int kMissedRungs = 2;
  static constexpr int kRungsAbove = 3;
  static constexpr int kFuseParts[] = {4, 2};
  static constexpr double kGoodEnough = 1.02;
  static constexpr double kCostly = 1.05;
  // What a search may look at for one variant at effort 1: about a second.
  static constexpr int64_t kWorkOfVariant = 3'000'000;
  // ... or less, in small modules.
  static constexpr int64_t kWorkOfInstruction = 1000;
  // Copies and analyses around a search, per instruction.
  static constexpr int64_t kWorkOfTrial = 20;
  // With so much spent, no lower limits are looked at.
  static constexpr int64_t kWorkOfRungs = 6'000'000;
  // ... and no more of a curve.
  static constexpr int64_t kWorkOfCurve = 12'000'000;

  HloModule* module_;
  const RematPlanOptions& options_;
  RematPlanResult result_;
  // The limit that plans are made for: the caller's, or one of a curve.
  int64_t target_;
  // What all plans for a curve have led to.
  Frontier frontier_;
  Outcome best_;
  // The module of best_, or where to take it from; neither, or nothing there:
  // the module itself.
  std::unique_ptr<HloModule> best_module_;
  std::unique_ptr<HloModule>* lender_ = nullptr;
  std::vector<std::unique_ptr<Prepared>> prepared_;
  bool knows_loop_variants_ = false;
  std::vector<ModuleVariant> loop_variants_;
  // Left for the search at hand, and what all have taken.
  int64_t work_ = 0;
  int64_t spent_ = 0;
};

}  // namespace

absl::StatusOr<RematPlanResult> PlanRematerialization(
    HloModule* module, const RematPlanOptions& options) {
  return Planner(module, options).Run();
}

}  // namespace xla
