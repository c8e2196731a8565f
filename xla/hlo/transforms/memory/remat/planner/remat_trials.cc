#include "xla/hlo/transforms/memory/remat/planner/remat_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/lost_reads.h"
#include "xla/hlo/transforms/memory/remat/planner/needless_copies.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/status_macros.h"

// A trial applies a plan to a copy of the module and measures the copy with the
// caller's own accounting, so that a discrepancy between the abstract problem
// and the accounting can cost quality but never correctness. The difference
// found in one attempt (uncounted_bytes) lowers the aim of the next.
//
// Budgets are counted in elementary steps of the search (work_, spent_) and not
// in time, which keeps results reproducible.

namespace xla::remat_plan {
namespace {

// Instructions.
constexpr int64_t kLarge = 5000;
constexpr int64_t kTiny = 500;
// Plans for a limit, and how much lower each of them aims: at least this part
// of the limit.
constexpr int kAims = 4;
constexpr int64_t kLeastStep = 512;
// Search effort for one variant at effort 1: about a second, and up to as much
// again for further aims.
constexpr int64_t kWorkOfVariant = 3'000'000;
// ... or less, in small modules.
constexpr int64_t kWorkOfInstruction = 1000;
// Copies and analyses around a search, per instruction.
constexpr int64_t kWorkOfTrial = 20;
// Beyond this effort, no lower limits are tried.
constexpr int64_t kWorkOfLimits = 6'000'000;
// ... and no more of a curve.
constexpr int64_t kWorkOfCurve = 12'000'000;

}  // namespace

RematTrials::RematTrials(const HloModule& module,
                         const RematPlanOptions& options)
    : module_(module),
      options_(options),
      instruction_count_(module.instruction_count()),
      target_(options.limit_bytes) {}

absl::Status RematTrials::Start() {
  prepared_.push_back(std::make_unique<Prepared>());
  Prepared* base = prepared_.back().get();
  base->module = &module_;
  TF_RETURN_IF_ERROR(Analyze(base));
  TF_ASSIGN_OR_RETURN(always_there_, AlwaysThere(module_));
  if (IsPlacedByBackend(module_)) {
    TF_ASSIGN_OR_RETURN(lost_reads_, CountLostReads(module_));
  }
  base->lower_bound_bytes = LowerBound(always_there_, *base->planner);
  lower_bound_bytes_ = base->lower_bound_bytes;
  best_ = base->outcome;
  peak_before_bytes_ = best_.peak_bytes;
  frontier_.Offer({best_, "none"});
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RematTrials::Peak(const HloModule& module) const {
  if (options_.peak) return options_.peak(module);
  TF_ASSIGN_OR_RETURN(
      RematPeak peak,
      ComputeRematPeak(module, module.schedule(), options_.sizes));
  return peak.bytes;
}

absl::StatusOr<MemoryAlwaysThere> RematTrials::AlwaysThere(
    const HloModule& module) const {
  if (options_.always_there) return options_.always_there(module);
  MemoryAlwaysThere there;
  there.total_bytes = RematOutputBytes(module, options_.sizes);
  // Another accounting may count results when they are there.
  if (!options_.peak) there.throughout_bytes = there.total_bytes;
  return there;
}

// The caller's accounting may let results take the memory of operands. The
// planner counts neither arguments nor results.
int64_t RematTrials::LowerBound(const MemoryAlwaysThere& there,
                                const NestedPlanner& planner) const {
  if (options_.fused.has_value()) return there.total_bytes;
  return std::max(there.total_bytes,
                  there.throughout_bytes +
                      planner.LowerBound(/*in_place=*/options_.peak != nullptr,
                                         there.in_between));
}

absl::Status RematTrials::Analyze(Prepared* made) {
  TF_ASSIGN_OR_RETURN(made->cost, CostOfModule(*made->module, options_.device));
  TF_ASSIGN_OR_RETURN(made->outcome.peak_bytes, Peak(*made->module));
  made->outcome.work = RematWorkOf(*made->cost);
  auto planner = std::make_unique<NestedPlanner>(
      *made->module, *made->cost, options_.sizes, options_.effort,
      options_.reschedule, options_.peak ? options_.in_place.get() : nullptr,
      &work_, options_.execution_threads,
      options_.fused.value_or(absl::flat_hash_set<std::string>()));
  TF_ASSIGN_OR_RETURN(const NestedPlanner::Plan as_is,
                      planner->PlanEntry(std::numeric_limits<int64_t>::max()));
  made->uncounted_bytes = made->outcome.peak_bytes - as_is.peak_bytes;
  made->most_uncounted_bytes = made->uncounted_bytes;
  made->planner = std::move(planner);
  return absl::OkStatus();
}

// Each variant is rewritten and analyzed once. A failed attempt stays in the
// list without a planner, so that it is not repeated.
absl::StatusOr<Prepared*> RematTrials::Prepare(const ModuleVariant& variant) {
  for (const std::unique_ptr<Prepared>& known : prepared_) {
    if (!(known->variant == variant)) continue;
    if (known->planner != nullptr) return known.get();
    return absl::FailedPreconditionError("was not possible before");
  }
  prepared_.push_back(std::make_unique<Prepared>());
  Prepared* made = prepared_.back().get();
  made->variant = variant;
  made->rewritten = module_.Clone("");
  made->module = made->rewritten.get();
  TF_RETURN_IF_ERROR(PrepareVariant(variant, options_.device, options_.move_out,
                                    made->rewritten.get()));
  TF_RETURN_IF_ERROR(Settle(made->rewritten.get()));
  TF_RETURN_IF_ERROR(Analyze(made));
  TF_ASSIGN_OR_RETURN(const MemoryAlwaysThere there,
                      AlwaysThere(*made->module));
  lower_bound_bytes_ =
      std::min(lower_bound_bytes_, LowerBound(there, *made->planner));
  return made;
}

bool RematTrials::IsLarge() const { return instruction_count_ > kLarge; }

bool RematTrials::HasCurve() const {
  return options_.effort > 0 && instruction_count_ < kTiny;
}

bool RematTrials::KeepsAll() const { return options_.effort > 0 && !IsLarge(); }

bool RematTrials::HasTimeForLimits() const { return spent_ <= kWorkOfLimits; }

bool RematTrials::HasTimeForCurve() const { return spent_ <= kWorkOfCurve; }

absl::StatusOr<const std::vector<ModuleVariant>*>
RematTrials::FindLoopVariants() {
  if (!loop_variants_.has_value()) {
    TF_ASSIGN_OR_RETURN(loop_variants_, LoopVariants(module_, options_.device));
  }
  return &*loop_variants_;
}

void RematTrials::SetTarget(int64_t limit_bytes) {
  target_ = limit_bytes;
  const Candidate* best = frontier_.BestFor(limit_bytes);
  best_ = best != nullptr ? best->outcome : base().outcome;
  useless_seconds_ = std::numeric_limits<double>::infinity();
  for (auto& prepared : prepared_) prepared->seconds_for_limit.reset();
}

bool RematTrials::IsBetter(const Outcome& a, const Outcome& b) const {
  const bool a_met = a.peak_bytes <= target_;
  const bool b_met = b.peak_bytes <= target_;
  if (a_met != b_met) return a_met;
  if (!a_met && a.peak_bytes != b.peak_bytes) {
    return a.peak_bytes < b.peak_bytes;
  }
  return a.work.seconds < b.work.seconds;
}

bool RematTrials::LosesReads(const Candidate& candidate) const {
  if (!lost_reads_.has_value()) return false;
  const HloModule* module = candidate.rewritten();
  if (module == nullptr) return false;
  const absl::StatusOr<int64_t> lost = CountLostReads(*module);
  return !lost.ok() || *lost > *lost_reads_;
}

bool RematTrials::Offer(Candidate candidate) {
  const bool is_best = IsBetter(candidate.outcome, best_);
  const bool is_kept = KeepsAll() && !frontier_.Dominates(candidate.outcome);
  if ((is_best || is_kept) && LosesReads(candidate)) return false;
  if (candidate.outcome.peak_bytes <= target_) {
    useless_seconds_ =
        std::min(useless_seconds_, candidate.outcome.work.seconds);
  }
  if (is_best) {
    best_ = candidate.outcome;
    if (!KeepsAll()) frontier_.Clear();
  }
  if (is_best || is_kept) frontier_.Offer(std::move(candidate));
  return true;
}

absl::Status RematTrials::TryOthers() {
  for (const auto& [name, rewrite] : options_.others) {
    // Only recomputation has a cost.
    if (Met() && best_.work.seconds <= base().outcome.work.seconds) break;
    std::unique_ptr<HloModule> copy = module_.Clone("");
    if (!rewrite(target_, copy.get()).ok()) continue;
    TF_RETURN_IF_ERROR(OfferModule(name, std::move(copy)));
  }
  return absl::OkStatus();
}

absl::Status RematTrials::OfferModule(const std::string& method,
                                      std::unique_ptr<HloModule> module) {
  TF_RETURN_IF_ERROR(Settle(module.get()));
  TF_ASSIGN_OR_RETURN(const int64_t peak, Peak(*module));
  TF_ASSIGN_OR_RETURN(const RematWork work,
                      ComputeRematWork(*module, options_.device));
  Offer({{peak, work}, method, std::move(module)});
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RematTrials::PlaceBest() {
  int64_t least_excess = 0;
  const auto next = [&] { return frontier_.BestFor(target_); };
  while (options_.placed && next() != nullptr && !next()->placed) {
    Candidate best = frontier_.TakeBestFor(target_);
    const bool met = best.outcome.peak_bytes <= target_;
    const HloModule* module = best.rewritten();
    TF_ASSIGN_OR_RETURN(const int64_t bytes,
                        options_.placed(module != nullptr ? *module : module_));
    if (bytes > target_) {
      best.outcome.peak_bytes = std::max(best.outcome.peak_bytes, bytes);
    }
    best.placed = true;
    const int64_t excess = best.outcome.peak_bytes - target_;
    if (met && excess > 0) {
      if (least_excess == 0 || excess < least_excess) least_excess = excess;
      // No longer what a search may end with.
      for (const std::unique_ptr<Prepared>& prepared : prepared_) {
        if (module == nullptr ? prepared->module == &module_
                              : prepared->module == module) {
          prepared->outcome.peak_bytes = best.outcome.peak_bytes;
        }
      }
    }
    frontier_.Offer(std::move(best));
  }
  SetTarget(target_);
  return least_excess;
}

// Some results of cloned multi-output fusions have no readers; other orders and
// readers leave copies without a purpose. Backends drop both, which changes
// what is live.
absl::Status RematTrials::Settle(HloModule* module) const {
  if (!lost_reads_.has_value()) return absl::OkStatus();
  const absl::flat_hash_set<absl::string_view> threads(
      options_.execution_threads.begin(), options_.execution_threads.end());
  TF_RETURN_IF_ERROR(HloDCE().Run(module, threads).status());
  TF_RETURN_IF_ERROR(module->schedule().Update());
  return DropNeedlessCopies(threads, module).status();
}

absl::StatusOr<std::unique_ptr<HloModule>> RematTrials::Apply(
    const Prepared& prepared, const NestedPlanner::Plan& plan) const {
  std::unique_ptr<HloModule> copy = prepared.module->Clone("");
  ApplyOptions apply;
  apply.tie_clones = options_.tie_clones;
  if (options_.fused.has_value()) apply.fused = &*options_.fused;
  TF_RETURN_IF_ERROR(prepared.planner->ApplyToClone(plan, apply, copy.get()));
  TF_RETURN_IF_ERROR(Settle(copy.get()));
  // What only instructions called that run no more: bodies of fusions.
  TF_RETURN_IF_ERROR(copy->RemoveUnusedComputations());
  TF_RETURN_IF_ERROR(copy->schedule().Update());
  TF_RETURN_IF_ERROR(copy->schedule().Verify());
  return copy;
}

int64_t RematTrials::WorkOfSearch() const {
  return std::min(kWorkOfVariant, kWorkOfInstruction * instruction_count_) *
         std::max<int64_t>(options_.effort, 1);
}

absl::StatusOr<Trial> RematTrials::TryAim(int64_t aim_bytes,
                                          double useless_seconds,
                                          int64_t room_bytes,
                                          Prepared* prepared) {
  TF_ASSIGN_OR_RETURN(
      const NestedPlanner::Plan plan,
      prepared->planner->PlanEntry(aim_bytes, useless_seconds, room_bytes));
  const double added_seconds = plan.added_seconds - plan.launch_seconds;
  Trial trial{
      plan.peak_bytes,
      {plan.peak_bytes + prepared->uncounted_bytes, prepared->outcome.work}};
  trial.outcome.work.seconds += added_seconds;
  // A plan that misses a lower limit may still be the best for the target.
  if (added_seconds >= useless_seconds ||
      (trial.outcome.peak_bytes > target_ && !std::isinf(useless_seconds))) {
    return trial;
  }
  trial.tried_out = true;
  const auto key = std::make_pair(plan.peak_bytes, plan.added_seconds);
  const auto known = prepared->measured.find(key);
  if (known != prepared->measured.end()) {
    trial.outcome = known->second;
    return trial;
  }
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> copy, Apply(*prepared, plan));
  ++measured_;
  TF_ASSIGN_OR_RETURN(trial.outcome.peak_bytes, Peak(*copy));
  TF_ASSIGN_OR_RETURN(trial.outcome.work,
                      ComputeRematWork(*copy, options_.device));
  if (IsCompiled()) prepared->measured[key] = trial.outcome;
  prepared->most_uncounted_bytes =
      std::max(prepared->most_uncounted_bytes,
               trial.outcome.peak_bytes - plan.peak_bytes);
  if (!Offer({trial.outcome, prepared->variant.Name(), std::move(copy), nullptr,
              prepared->FusedSeconds()})) {
    prepared->planner->Forget(plan);
    trial.tried_out = false;
    trial.outcome = prepared->outcome;
  }
  return trial;
}

absl::StatusOr<Trial> RematTrials::TryAim(int64_t aim_bytes,
                                          Prepared* prepared) {
  work_ = WorkOfSearch();
  return TryAim(aim_bytes, useless_seconds_ - prepared->outcome.work.seconds,
                /*room_bytes=*/0, prepared);
}

// Plans, applies and measures up to kAims times. The first retry lowers the aim
// by exactly the excess; later ones by at least a fraction more, because an aim
// that moves by a few bytes usually yields the same plan.
absl::StatusOr<Outcome> RematTrials::FindPrograms(int64_t limit,
                                                  Prepared* prepared) {
  Outcome best = prepared->outcome;
  Offer({best, prepared->variant.Name(), nullptr, &prepared->rewritten,
         prepared->FusedSeconds()});
  const double useless_seconds = useless_seconds_ - best.work.seconds;
  if (best.peak_bytes <= limit || useless_seconds <= 0) return best;
  if (limit < target_ && IsLarge() && !std::isinf(useless_seconds) &&
      prepared->seconds_for_limit.value_or(0) >= useless_seconds_) {
    return best;
  }
  const int64_t work = WorkOfSearch();
  work_ = work;
  int64_t aim = limit - prepared->uncounted_bytes;
  for (int attempt = 0; attempt < kAims && CanMeasure() > 0; ++attempt) {
    aim = std::max<int64_t>(aim, 0);
    // An aim that is a little lower must not fail for want of work.
    const int64_t added_work = std::max<int64_t>(0, work / 3 - work_);
    work_ += added_work;
    spent_ += added_work;
    TF_ASSIGN_OR_RETURN(
        const Trial trial,
        TryAim(aim, useless_seconds,
               limit < target_ ? target_ - prepared->most_uncounted_bytes : 0,
               prepared));
    if (IsBetter(trial.outcome, best)) best = trial.outcome;
    if (!trial.tried_out) break;
    const int64_t excess = trial.outcome.peak_bytes - limit;
    if (excess <= 0 || trial.planned_bytes > aim || aim == 0) break;
    // What it counts elsewhere is known now; where that is not enough, more,
    // and not only by a few bytes.
    aim -=
        excess + (attempt == 0 ? 0 : std::max(excess / 4, limit / kLeastStep));
    // Not the same plan again.
    aim = std::min(aim, trial.planned_bytes - 1);
  }
  spent_ += work - work_ + kWorkOfTrial * instruction_count_;
  if (limit == target_) {
    prepared->seconds_for_limit = best.peak_bytes <= limit
                                      ? best.work.seconds
                                      : std::numeric_limits<double>::infinity();
  }
  return best;
}

}  // namespace xla::remat_plan
