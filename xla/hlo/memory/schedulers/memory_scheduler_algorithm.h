#ifndef XLA_HLO_MEMORY_SCHEDULERS_MEMORY_SCHEDULER_ALGORITHM_H_
#define XLA_HLO_MEMORY_SCHEDULERS_MEMORY_SCHEDULER_ALGORITHM_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Reorders a sequence made by a scheduler (for instance asynchronous starts and
// dones); must return a valid order of the same instructions.
using SchedulerPostprocessor =
    std::function<HloInstructionSequence(const HloInstructionSequence&)>;

// Finds an order for each non-fusion computation of a module.
class ModuleSchedulerAlgorithm {
 public:
  // `alias_info` (null: defaults) must outlive the algorithm.
  explicit ModuleSchedulerAlgorithm(const AliasInfo* alias_info)
      : alias_info_(alias_info) {}
  virtual ~ModuleSchedulerAlgorithm() = default;

  // Schedules the computations of `execution_threads` (empty: all). Does not
  // change the module. `peak_memory`, if not null, gets the module's peak in
  // bytes, fragmentation apart.
  virtual absl::StatusOr<HloSchedule> Run(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      int64_t* peak_memory) const = 0;

  const AliasInfo* alias_info() const { return alias_info_; }

 private:
  const AliasInfo* alias_info_;
};

// An algorithm that schedules one computation at a time.
class ComputationSchedulerAlgorithm : public ModuleSchedulerAlgorithm {
 public:
  // In the first form the size function is not owned and must outlive the
  // algorithm.
  ComputationSchedulerAlgorithm(const AliasInfo* alias_info,
                                const BufferValue::SizeFunction* size_function,
                                SchedulerPostprocessor postprocessor = {})
      : ModuleSchedulerAlgorithm(alias_info),
        size_function_(size_function),
        postprocessor_(std::move(postprocessor)) {}
  ComputationSchedulerAlgorithm(const AliasInfo* alias_info,
                                BufferValue::SizeFunction size_function,
                                SchedulerPostprocessor postprocessor = {})
      : ModuleSchedulerAlgorithm(alias_info),
        owned_size_function_(std::move(size_function)),
        postprocessor_(std::move(postprocessor)) {}

  // Finds an order of the computation's instructions.
  virtual absl::StatusOr<HloInstructionSequence> Run(
      HloComputation* computation,
      const HloAliasAnalysis& alias_analysis) const = 0;

  // Runs on each computation, callees first, then the postprocessor.
  absl::StatusOr<HloSchedule> Run(
      HloModule* module, const HloAliasAnalysis& alias_analysis,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      int64_t* peak_memory) const override;

 protected:
  const BufferValue::SizeFunction& size_function() const {
    return size_function_ != nullptr ? *size_function_ : owned_size_function_;
  }

 private:
  const BufferValue::SizeFunction* size_function_ = nullptr;
  BufferValue::SizeFunction owned_size_function_;
  SchedulerPostprocessor postprocessor_;
};

// Runs alias analysis and the algorithm, and verifies the schedule. Errors:
// those of HloAliasAnalysis::Run (a module that is not flattened), cyclic
// control dependencies, sizes beyond 2^62 bytes.
absl::StatusOr<HloSchedule> ScheduleModule(
    HloModule* module, const ModuleSchedulerAlgorithm& algorithm,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {},
    int64_t* peak_memory = nullptr);

// The same with DefaultMemoryScheduler.
absl::StatusOr<HloSchedule> ScheduleModule(
    HloModule* module, const AliasInfo* alias_info,
    BufferValue::SizeFunction size_function,
    const absl::flat_hash_set<absl::string_view>& execution_threads = {},
    int64_t* peak_memory = nullptr);

// The bytes of arrays, with 8-byte pointers in tuples; the schedulers' default.
BufferValue::SizeFunction DefaultSizeFunction();

}  // namespace xla

#endif  // XLA_HLO_MEMORY_SCHEDULERS_MEMORY_SCHEDULER_ALGORITHM_H_
