#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "xla/service/memory_scheduler_metrics.pb.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<HloSchedule> DefaultMemoryScheduler::Run(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) const {
  MemorySchedulerMetrics metrics;
  TF_ASSIGN_OR_RETURN(HloSchedule schedule,
                      RunWithMetrics(module, alias_analysis, execution_threads,
                                     peak_memory, &metrics));
  // NotFound outside a pipeline, where nothing records metrics.
  module->metadata()->set_custom_metadata(metrics).IgnoreError();
  return schedule;
}

absl::StatusOr<HloSchedule> DefaultMemoryScheduler::RunWithMetrics(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory, MemorySchedulerMetrics* metrics) const {
  const std::pair<const char*, const ModuleSchedulerAlgorithm*> schedulers[] = {
      {"list", &list_}, {"dfs", &dfs_}, {"postorder", &post_order_}};
  std::optional<HloSchedule> best;
  int64_t best_peak = 0;
  absl::Status first_error;
  metrics->Clear();
  for (const auto& [name, scheduler] : schedulers) {
    MemorySchedulerMetrics::Scheduler* record = metrics->add_schedulers();
    record->set_name(name);
    int64_t peak = 0;
    absl::StatusOr<HloSchedule> schedule =
        scheduler->Run(module, alias_analysis, execution_threads, &peak);
    if (!schedule.ok()) {
      first_error.Update(schedule.status());
      continue;
    }
    record->set_valid(true);
    record->set_peak_memory(peak);
    if (!best.has_value() || peak < best_peak) {
      best = *std::move(schedule);
      best_peak = peak;
      metrics->set_selected_index(metrics->schedulers_size() - 1);
    }
  }
  if (!best.has_value()) return first_error;
  if (peak_memory != nullptr) *peak_memory = best_peak;
  return *std::move(best);
}

}  // namespace xla
