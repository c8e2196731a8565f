#include "xla/hlo/transforms/memory/remat/planner/remat_variants.h"

#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// What values that are computed in their readers follow from: a quarter of
// their bytes, half, one other value, two (parts of a softmax, of an
// activation).
constexpr double kFuseParts[] = {4, 2, 1, 0.5};
// At effort 1, variants of large modules are not tried if a plan is within this
// factor of the original run time.
constexpr double kGoodEnough = 1.02;

}  // namespace

RematVariants::RematVariants(const RematPlanOptions& options,
                             int64_t limit_bytes, RematTrials* trials)
    : options_(options),
      limit_(limit_bytes),
      trials_(*trials),
      best_(trials->base().outcome) {}

// Updates in loops only save memory, but the search is a heuristic: it may come
// further in loops that stack gradients.
absl::Status RematVariants::Run() {
  TF_RETURN_IF_ERROR(Search());
  if (Met() || !options_.across_loops || options_.effort < 1) {
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(const std::vector<ModuleVariant>* loops,
                      trials_.FindLoopVariants());
  if (absl::c_none_of(*loops, [](const ModuleVariant& variant) {
        return variant.updates;
      })) {
    return absl::OkStatus();
  }
  const std::pair<Outcome, ModuleVariant> best(best_, best_variant_);
  updates_ = false;
  tried_.clear();
  best_ = trials_.base().outcome;
  best_variant_ = ModuleVariant();
  TF_RETURN_IF_ERROR(Search());
  if (!trials_.IsBetter(best_, best.first)) {
    std::tie(best_, best_variant_) = best;
  }
  return absl::OkStatus();
}

absl::Status RematVariants::Search() {
  // Fusions cost less than nothing: what they make room for is free, and
  // nothing else has to be looked at where that is enough.
  if (options_.fuse && options_.effort > 0) {
    ModuleVariant variant;
    variant.fuse_part = kFuseParts[0];
    TF_RETURN_IF_ERROR(Try(variant));
  }
  TF_RETURN_IF_ERROR(Try({}, /*always=*/true));
  if (options_.effort < 1 || IsGoodEnough()) return absl::OkStatus();
  if (options_.fuse) TF_RETURN_IF_ERROR(TryNarrowValues());
  if (options_.across_loops) TF_RETURN_IF_ERROR(TryLoops());
  if (options_.reschedule) TF_RETURN_IF_ERROR(TryOtherOrder());
  TF_RETURN_IF_ERROR(TrySplitting());
  if (options_.fuse) {
    for (double part : kFuseParts) {
      ModuleVariant variant = best_variant_;
      variant.fuse_part = part;
      TF_RETURN_IF_ERROR(Try(variant));
    }
    // Other values bind now.
    if (best_variant_.fuse_part > 0) {
      if (options_.across_loops) TF_RETURN_IF_ERROR(TryLoops());
      if (options_.reschedule) TF_RETURN_IF_ERROR(TryOtherOrder());
    }
  }
  TF_RETURN_IF_ERROR(TryFewerDrops());
  if (!options_.move_out) return absl::OkStatus();
  ModuleVariant variant = best_variant_;
  variant.move_out_limit = limit_;
  return Try(variant);
}

bool RematVariants::IsGoodEnough() const {
  if (options_.effort < 1) return true;
  return options_.effort == 1 && Met() && trials_.IsLarge() &&
         best_.work.seconds <=
             kGoodEnough * trials_.base().outcome.work.seconds;
}

absl::Status RematVariants::Try(const ModuleVariant& variant, bool always) {
  if (!always && IsGoodEnough()) return absl::OkStatus();
  if (limit_ < trials_.target() && !trials_.HasTimeForLimits()) {
    return absl::OkStatus();
  }
  if (absl::c_linear_search(tried_, variant)) return absl::OkStatus();
  tried_.push_back(variant);
  const bool base = variant == ModuleVariant();
  absl::StatusOr<Prepared*> prepared = trials_.Prepare(variant);
  if (!prepared.ok()) return base ? prepared.status() : absl::OkStatus();
  absl::StatusOr<Outcome> found = trials_.FindPrograms(limit_, *prepared);
  if (!found.ok()) return base ? found.status() : absl::OkStatus();
  if (trials_.IsBetter(*found, best_)) {
    best_ = *found;
    best_variant_ = variant;
  }
  return absl::OkStatus();
}

absl::Status RematVariants::TryLoops() {
  TF_ASSIGN_OR_RETURN(const std::vector<ModuleVariant>* loops,
                      trials_.FindLoopVariants());
  const ModuleVariant beside = best_variant_;
  for (ModuleVariant variant : *loops) {
    variant.updates &= updates_;
    variant.split = beside.split;
    variant.narrow = beside.narrow;
    variant.fuse_part = beside.fuse_part;
    variant.reschedule = beside.reschedule;
    TF_RETURN_IF_ERROR(Try(variant));
  }
  return absl::OkStatus();
}

// Each stack that is kept saves time, and a loop variant may drop far more than
// this limit asks for: bisects for the least number that does.
absl::Status RematVariants::TryFewerDrops() {
  int too_few = 0;
  while (best_.peak_bytes <= limit_ && best_variant_.drops - too_few > 1) {
    ModuleVariant variant = best_variant_;
    variant.drops = (too_few + best_variant_.drops) / 2;
    TF_RETURN_IF_ERROR(Try(variant));
    if (best_variant_.drops != variant.drops) too_few = variant.drops;
  }
  return absl::OkStatus();
}

absl::Status RematVariants::TryOtherOrder() {
  ModuleVariant variant = best_variant_;
  variant.reschedule = true;
  return Try(variant);
}

// Costs next to nothing, as fusions do: all else may build on it.
absl::Status RematVariants::TryNarrowValues() {
  ModuleVariant variant = best_variant_;
  variant.narrow = true;
  return Try(variant);
}

// Beside the best order and beside the one of the module.
absl::Status RematVariants::TrySplitting() {
  ModuleVariant variant = best_variant_;
  variant.split = true;
  TF_RETURN_IF_ERROR(Try(variant));
  if (!options_.reschedule) return absl::OkStatus();
  variant.reschedule = !variant.reschedule;
  return Try(variant);
}

}  // namespace xla::remat_plan
