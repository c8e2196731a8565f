#include "xla/hlo/transforms/memory/rematerialization_pass.h"

#include <cstdint>
#include <string>

#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/memory/limit/memory_limit.h"
#include "xla/hlo/memory/report/remat_report.h"
#include "xla/hlo/pass/check_scheduled.h"
#include "xla/hlo/transforms/memory/remat_choices.h"
#include "xla/hlo/transforms/memory/remat_fuel.h"
#include "xla/status_macros.h"

namespace xla {

absl::Status RematerializationPass::StartReport(const HloModule& before) {
  reported_peak_bytes_ = 0;
  if (!before.has_schedule()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(reported_peak_bytes_,
                      RematerializationPeak(options_, before));
  return absl::OkStatus();
}

absl::StatusOr<PassReport> RematerializationPass::FinishReport(
    const HloModule& after) {
  const RematPlanOptions plan = MakeRematPlanOptions(options_, 0, after);
  TF_ASSIGN_OR_RETURN(
      RematChoices choices,
      FindRematChoices(after, plan.device, [&plan](const Shape& shape) {
        return plan.sizes.SizeOf(shape);
      }));
  choices.set_pass(std::string(name()));
  choices.set_module(std::string(after.name()));
  choices.set_peak_before_bytes(static_cast<double>(reported_peak_bytes_));
  TF_ASSIGN_OR_RETURN(const int64_t peak,
                      RematerializationPeak(options_, after));
  choices.set_peak_after_bytes(static_cast<double>(peak));
  PassReport report;
  report.text = RematChoicesToText(choices);
  TF_ASSIGN_OR_RETURN(report.json, RematChoicesToJson(choices));
  return report;
}

absl::StatusOr<bool> RematerializationPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  unmet_limit_ = absl::OkStatus();
  TF_RETURN_IF_ERROR(CheckScheduled("rematerialization", *module));
  if (!execution_threads.empty() &&
      !execution_threads.contains(
          module->entry_computation()->execution_thread())) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(
      const int64_t limit_bytes,
      RematerializationLimit(options_, *module, execution_threads));
  TF_ASSIGN_OR_RETURN(const MemoryLimit limit,
                      MemoryLimit::Parse(options_.memory_limit));
  const MemoryAccounting accounting =
      AccountingOf(options_.accounting, *module);
  // The share is of what is live now: 100 % and more hold without a plan, also
  // where buffers cannot be placed without gaps.
  if (options_.strategy == RematerializationAlgorithm::kPlan &&
      limit.is_share() && limit.BytesOf(100) >= 100) {
    return false;
  }
  const absl::flat_hash_set<std::string> names =
      fuel_ == nullptr ? absl::flat_hash_set<std::string>()
                       : InstructionNames(*module);
  TF_ASSIGN_OR_RETURN(
      const RematPlanResult result,
      Rematerialize(options_, limit_bytes, module, execution_threads));
  int64_t peak_bytes = result.peak_after_bytes;
  if (fuel_ != nullptr && result.changed) {
    TF_RETURN_IF_ERROR(
        KeepFirstRematClones(names, module, fuel_.get()).status());
    TF_ASSIGN_OR_RETURN(peak_bytes, RematerializationPeak(options_, *module,
                                                          execution_threads));
  }
  if (peak_bytes > limit_bytes) {
    unmet_limit_ = UnmetLimitError(module->name(), limit_bytes, peak_bytes,
                                   accounting, options_.memory_limit);
  }
  return result.changed;
}

}  // namespace xla
