#ifndef XLA_HLO_MEMORY_SCHEDULERS_DEFAULT_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_DEFAULT_MEMORY_SCHEDULER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/schedulers/bf_scheduler.h"
#include "xla/hlo/memory/schedulers/dfs_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/list_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"
#include "xla/hlo/memory/schedulers/post_order_scheduler.h"
#include "xla/service/memory_scheduler_metrics.pb.h"

namespace xla {

// Runs ListMemoryScheduler, DFSMemoryScheduler and PostOrderScheduler on the
// whole module and keeps the schedule with the lowest peak, the first of equal
// ones, like XLA's scheduler of this name. Fails if all of them do.
class DefaultMemoryScheduler : public ModuleSchedulerAlgorithm {
 public:
  DefaultMemoryScheduler(const AliasInfo* alias_info,
                         const BufferValue::SizeFunction* size_function,
                         const SchedulerPostprocessor& postprocessor = {})
      : ModuleSchedulerAlgorithm(alias_info),
        list_(alias_info, size_function, postprocessor),
        dfs_(alias_info, size_function, postprocessor),
        post_order_(alias_info, size_function, postprocessor) {}
  DefaultMemoryScheduler(const AliasInfo* alias_info,
                         BufferValue::SizeFunction size_function,
                         const SchedulerPostprocessor& postprocessor = {})
      : ModuleSchedulerAlgorithm(alias_info),
        list_(alias_info, size_function, postprocessor),
        dfs_(alias_info, size_function, postprocessor),
        post_order_(alias_info, size_function, postprocessor) {}

  // Records MemorySchedulerMetrics in the metadata of the running pass, if any.
  absl::StatusOr<HloSchedule> Run(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      int64_t* peak_memory) const override;

  // The same without a record; `metrics` gets the peak of each scheduler.
  absl::StatusOr<HloSchedule> RunWithMetrics(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      int64_t* peak_memory, MemorySchedulerMetrics* metrics) const;

 private:
  ListMemoryScheduler list_;
  DFSMemoryScheduler dfs_;
  PostOrderScheduler post_order_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_DEFAULT_MEMORY_SCHEDULER_H_
