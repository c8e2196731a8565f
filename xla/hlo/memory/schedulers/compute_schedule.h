#ifndef XLA_HLO_MEMORY_SCHEDULERS_COMPUTE_SCHEDULE_H_
#define XLA_HLO_MEMORY_SCHEDULERS_COMPUTE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/schedulers/best_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

enum class ScheduleAlgorithm {
  kList,
  kDfs,
  kPostOrder,
  kBfs,
  kDefault,  // the best of list, dfs and postorder, as XLA's
  kBest,     // BestMemoryScheduler
  kAsIs,     // the schedule that the module has
};

// list, dfs, postorder, bfs, default, best, as-is.
bool AbslParseFlag(absl::string_view text, ScheduleAlgorithm* algorithm,
                   std::string* error);
std::string AbslUnparseFlag(ScheduleAlgorithm algorithm);

struct ScheduleOptions {
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kBest;
  // For kBest: see BestMemoryScheduler.
  int64_t effort = BestMemoryScheduler::kDefaultEffort;
  // Applied to each sequence before its peak is computed; may be empty.
  SchedulerPostprocessor postprocessor;
  // Bytes of a value; if empty, DefaultSizeFunction().
  BufferValue::SizeFunction size_function;
  // Null: defaults. Must outlive the call.
  const AliasInfo* alias_info = nullptr;
  // Empty: all.
  absl::flat_hash_set<absl::string_view> execution_threads;
};

struct ScheduleResult {
  HloSchedule schedule;
  // The schedule's peak memory without fragmentation: a lower bound for any
  // placement of its buffers.
  int64_t peak_bytes = 0;
  // No schedule of this module has a lower peak.
  int64_t any_order_lower_bound_bytes = 0;
  // The entry instruction that needs that much in any order; null: what is live
  // from the start.
  const HloInstruction* lower_bound_instruction = nullptr;
  // The requested one.
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kBest;
  // Which one made the entry's order. For kDefault: list, dfs or postorder; for
  // kBest also greedy, cuts, exact, series-parallel; else the requested one.
  std::string winner;
  // Wall time, without alias analysis.
  double seconds = 0;
};

// Schedules the module and reports what the schedule needs; does not change the
// module. Errors are those of ScheduleModule; FailedPrecondition for kAsIs if
// the module has no schedule.
absl::StatusOr<ScheduleResult> ComputeSchedule(HloModule* module,
                                               const ScheduleOptions& options);
// The same with an existing alias analysis.
absl::StatusOr<ScheduleResult> ComputeSchedule(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const ScheduleOptions& options);

// An algorithm by name; kAsIs has none (InvalidArgument).
absl::StatusOr<std::unique_ptr<ModuleSchedulerAlgorithm>>
MakeSchedulerAlgorithm(const ScheduleOptions& options);

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_COMPUTE_SCHEDULE_H_
