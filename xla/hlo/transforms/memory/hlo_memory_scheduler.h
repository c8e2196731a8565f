#ifndef XLA_HLO_TRANSFORMS_MEMORY_HLO_MEMORY_SCHEDULER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_HLO_MEMORY_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/async_postprocessor.h"
#include "xla/hlo/memory/schedulers/best_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/bf_scheduler.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/dfs_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/list_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"
#include "xla/hlo/memory/schedulers/post_order_scheduler.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/transforms/memory/hlo_descheduler.h"
#include "xla/hlo/transforms/memory/hlo_trivial_scheduler.h"

namespace xla {

struct HloMemorySchedulerOptions {
  // as-is is not valid here.
  ScheduleAlgorithm algorithm = ScheduleAlgorithm::kBest;
  // For algorithm best, in millions of edge visits; 0: portfolio only.
  int64_t effort = BestMemoryScheduler::kDefaultEffort;
  // Placement of asynchronous starts and dones afterwards.
  AsyncPlacement async = AsyncPlacement::kAsScheduled;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("algorithm", algorithm, "list, dfs, postorder, bfs, default or best");
    visit("effort", effort,
          "algorithm=best: search budget in millions of visited edges");
    visit("async", async,
          "as-scheduled, or overlap: start early, finish late, synchronous "
          "pairs run concurrently");
  }
};

// Gives the module a schedule that needs little memory.
//
//   before: HloModule m      after: HloModule m, is_scheduled=true
//           …any order…             …the order in which instructions run…
//
// Every non-fusion computation gets a sequence; an older schedule is dropped.
// Instructions are unchanged. Reports a change unless the new schedule equals
// the old one. Needs a flat call graph wherever values share buffers (see
// HloAliasAnalysis).
class HloMemoryScheduler : public HloModulePass {
 public:
  explicit HloMemoryScheduler(
      std::unique_ptr<ModuleSchedulerAlgorithm> algorithm)
      : algorithm_(std::move(algorithm)) {}
  // DefaultMemoryScheduler.
  HloMemoryScheduler(const AliasInfo* alias_info,
                     const BufferValue::SizeFunction* size_function)
      : algorithm_(std::make_unique<DefaultMemoryScheduler>(alias_info,
                                                            size_function)) {}
  HloMemoryScheduler(const AliasInfo* alias_info,
                     BufferValue::SizeFunction size_function)
      : algorithm_(std::make_unique<DefaultMemoryScheduler>(
            alias_info, std::move(size_function))) {}
  explicit HloMemoryScheduler(const HloMemorySchedulerOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "hlo-memory-scheduler"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // Null: by options_.
  std::unique_ptr<ModuleSchedulerAlgorithm> algorithm_;
  HloMemorySchedulerOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_HLO_MEMORY_SCHEDULER_H_
