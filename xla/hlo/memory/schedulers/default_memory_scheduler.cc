#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"

#include <optional>
#include <utility>

#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<HloSchedule> DefaultMemoryScheduler::Run(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory) const {
  return RunWithMetrics(module, alias_analysis, execution_threads, peak_memory,
                        /*metrics=*/nullptr);
}

absl::StatusOr<HloSchedule> DefaultMemoryScheduler::RunWithMetrics(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    int64_t* peak_memory, std::vector<Metrics>* metrics) const {
  const std::pair<const char*, const ModuleSchedulerAlgorithm*> schedulers[] = {
      {"list", &list_}, {"dfs", &dfs_}, {"postorder", &post_order_}};
  std::optional<HloSchedule> best;
  int64_t best_peak = 0;
  std::vector<Metrics> all;
  int selected = 0;
  for (const auto& [name, scheduler] : schedulers) {
    int64_t peak = 0;
    TF_ASSIGN_OR_RETURN(
        HloSchedule schedule,
        scheduler->Run(module, alias_analysis, execution_threads, &peak));
    if (!best.has_value() || peak < best_peak) {
      best = std::move(schedule);
      best_peak = peak;
      selected = static_cast<int>(all.size());
    }
    all.push_back({name, peak, /*selected=*/false});
  }
  all[selected].selected = true;
  if (metrics != nullptr) *metrics = std::move(all);
  if (peak_memory != nullptr) *peak_memory = best_peak;
  return *std::move(best);
}

}  // namespace xla
