#include "xla/hlo/transforms/memory/remat/planner/remat_measured.h"

#include <algorithm>

#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Aims all over the range: at most this many, which leave as many measurements.
constexpr int64_t kAimsOfRange = 12;
// Many aims lead to the same plans, which are measured once.
constexpr int64_t kPlansPerMeasured = 2;
// Aims that are closer than this part of the limit count as the same.
constexpr int64_t kLeastGap = 512;
// What plans that need too much count in run time, all as parts of the whole.
constexpr double kSecondsOfExcess = 4;

}  // namespace

absl::Status MeasuredSearch::Run(const ModuleVariant& variant,
                                 int64_t max_measured) {
  TF_ASSIGN_OR_RETURN(module_, trials_.Prepare(variant));
  left_over_ = std::max<int64_t>(0, trials_.CanMeasure() - max_measured);
  aims_ = std::clamp<int64_t>(max_measured / 2, 2, kAimsOfRange);
  samples_.clear();
  TF_RETURN_IF_ERROR(TryRange());
  if (!trials_.Met()) TF_RETURN_IF_ERROR(TryAbove());
  bool found = true;
  while (found && CanMeasure() > 0 &&
         static_cast<int64_t>(samples_.size()) / kPlansPerMeasured <
             max_measured) {
    TF_ASSIGN_OR_RETURN(found, TryBetween());
  }
  return absl::OkStatus();
}

absl::Status MeasuredSearch::TryRange() {
  const int64_t high =
      std::max<int64_t>(0, trials_.target() - module_->uncounted_bytes);
  const int64_t low =
      std::min(high, module_->planner->LowerBound(/*in_place=*/false, {}));
  for (int64_t k = 0; k < aims_ && CanMeasure() > 0; ++k) {
    const int64_t aim = high - (high - low) * k / (aims_ - 1);
    TF_ASSIGN_OR_RETURN(const Trial trial, Try(aim, samples_.size()));
    // Lower ones cost more.
    if (!trial.tried_out || high == low) break;
    // Where one is missed, only the lowest is looked at yet.
    if (trial.planned_bytes > aim) k = std::max(k, aims_ - 2);
  }
  return absl::OkStatus();
}

absl::Status MeasuredSearch::TryAbove() {
  if (samples_.empty()) return absl::OkStatus();
  const int64_t low = samples_.front().aim_bytes;
  const int64_t room =
      trials_.peak_before_bytes() - module_->uncounted_bytes - low;
  for (int64_t k = 1; k < aims_ && CanMeasure() > 0 && room > 0; ++k) {
    const int64_t aim = low + room * (aims_ - k) / aims_;
    TF_RETURN_IF_ERROR(Try(aim, k - 1).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Trial> MeasuredSearch::Try(int64_t aim_bytes, size_t place) {
  TF_ASSIGN_OR_RETURN(const Trial trial, trials_.TryAim(aim_bytes, module_));
  samples_.insert(samples_.begin() + static_cast<std::ptrdiff_t>(place),
                  {aim_bytes, trial});
  return trial;
}

int64_t MeasuredSearch::AimBetween(size_t i) const {
  const Sample& above = samples_[i];
  const int64_t high = std::min(above.aim_bytes, above.trial.planned_bytes);
  return high - (high - samples_[i + 1].aim_bytes) / 2;
}

// Plans that cost too much are not measured, so that cost may have a say in
// what comes next where one fits.
std::optional<double> MeasuredSearch::Promise(size_t i) const {
  const Outcome& above = samples_[i].trial.outcome;
  const Outcome& below = samples_[i + 1].trial.outcome;
  const int64_t gap = 2 * (AimBetween(i) - samples_[i + 1].aim_bytes);
  if (gap <= trials_.target() / kLeastGap) return std::nullopt;
  const int64_t mean = (above.peak_bytes + below.peak_bytes) / 2;
  if (!trials_.Met()) return static_cast<double>(mean - gap);
  const double seconds = (above.work.seconds + below.work.seconds) / 2;
  const double excess =
      static_cast<double>(std::max<int64_t>(0, mean - trials_.target()));
  return seconds / trials_.base().outcome.work.seconds +
         kSecondsOfExcess * excess / static_cast<double>(trials_.target());
}

absl::StatusOr<bool> MeasuredSearch::TryBetween() {
  std::optional<double> best;
  size_t place = 0;
  for (size_t i = 0; i + 1 < samples_.size(); ++i) {
    const std::optional<double> promise = Promise(i);
    if (!promise.has_value() || (best.has_value() && *promise >= *best)) {
      continue;
    }
    best = promise;
    place = i;
  }
  if (!best.has_value()) return false;
  TF_RETURN_IF_ERROR(Try(AimBetween(place), place + 1).status());
  return true;
}

}  // namespace xla::remat_plan
