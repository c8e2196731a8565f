#ifndef XLA_HLO_MEMORY_SCHEDULERS_BEST_MEMORY_SCHEDULER_H_
#define XLA_HLO_MEMORY_SCHEDULERS_BEST_MEMORY_SCHEDULER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/memory/schedulers/memory_scheduler_algorithm.h"

namespace xla {

// The scheduler of this project: never above DefaultMemoryScheduler.
//
// Works bottom up: callees first, so that a while or call counts with the final
// peak of its body. Each computation starts from the orders of list, DFS and
// post-order schedulers and looks for a better one with FindOrder(): exact on
// small computations and series-parallel parts, cuts of least memory on the
// others. Orders are chosen per computation. Control dependencies, values in
// place and aliases are respected; asynchronous starts and dones are ordinary
// steps that hold memory between them. If a postprocessor moves them, the order
// that is best afterwards is chosen, never above that of DefaultMemoryScheduler
// with the same postprocessor.
//
// Deterministic: `effort` is in millions of edges visited, not seconds. 0: the
// portfolio only, O(n log n).
class BestMemoryScheduler : public ModuleSchedulerAlgorithm {
 public:
  static constexpr int64_t kDefaultEffort = 100;

  struct Report {
    // How the entry's order was found: see FoundOrder.
    std::string algorithm;
    int64_t peak_bytes = 0;
    // No schedule of this module has a lower peak.
    int64_t lower_bound_bytes = 0;
    // The entry instruction that needs that much in any order; null:
    // parameters.
    const HloInstruction* lower_bound_instruction = nullptr;
  };

  BestMemoryScheduler(const AliasInfo* alias_info,
                      BufferValue::SizeFunction size_function,
                      int64_t effort = kDefaultEffort,
                      SchedulerPostprocessor postprocessor = {})
      : ModuleSchedulerAlgorithm(alias_info),
        size_function_(std::move(size_function)),
        effort_(effort),
        postprocessor_(std::move(postprocessor)) {}

  absl::StatusOr<HloSchedule> Run(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      int64_t* peak_memory) const override;

  // The same, with a report.
  absl::StatusOr<HloSchedule> RunWithReport(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      Report* report) const;

 private:
  BufferValue::SizeFunction size_function_;
  int64_t effort_;
  SchedulerPostprocessor postprocessor_;
};

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_BEST_MEMORY_SCHEDULER_H_
