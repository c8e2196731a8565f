#ifndef XLA_HLO_PIPELINE_PREPARED_MODULE_H_
#define XLA_HLO_PIPELINE_PREPARED_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/report/memory_report.pb.h"
#include "xla/hlo/memory/schedulers/async_postprocessor.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/pass/pass_registry.h"

namespace xla {

// A module whose memory can be reported: rewritten by the passes before
// scheduling, with its aliases and a schedule.
struct PrepareOptions {
  // The schedule of the module. Unset: its own if it has one, else best.
  std::optional<ScheduleAlgorithm> schedule;
  int64_t effort = BestMemoryScheduler::kDefaultEffort;
  // Where the schedule places starts and dones of asynchronous operations.
  AsyncPlacement async = AsyncPlacement::kAsScheduled;
  // Passes before scheduling, as text. Unset: the pipeline `prepare` for a
  // module without a schedule, which inlines calls and removes dead code; for
  // one with a schedule none, or `flatten-call-graph` where computations are
  // shared.
  std::optional<std::string> passes;
  // A pipeline instead, such as "gpu": for modules that have not been compiled.
  // Empty: none.
  std::string as;
  // Compile for one device where nothing else is asked for:
  // CompileForOneDevice().
  bool one_device = false;
  // Nobody sees the module of `as` but reports (MakePipelineForReports()).
  bool for_report = false;
  // Number of partitions, overriding the header of the module; 0: as in the
  // header.
  int64_t num_partitions = 0;
};

// What ran before scheduling.
struct Preparation {
  // As text; empty for nothing.
  std::string passes;
  // ResourceExhausted if a pass missed its memory limit: the module is the best
  // that it found.
  absl::Status unmet_limit;
};

struct PreparedModule {
  std::unique_ptr<HloModule> module;
  // A description of the module as given, and of the passes that ran; of what
  // was partitioned it says so.
  MemoryReport::Input input;
  std::unique_ptr<HloAliasAnalysis> alias_analysis;
  ScheduleResult schedule;
  // See Preparation::unmet_limit.
  absl::Status unmet_limit;
};

// Reads a module (a file, "-", a folder of dumps: module_file.h) and verifies
// it. Errors name the file.
absl::StatusOr<std::unique_ptr<HloModule>> ReadVerifiedModule(
    const std::string& path);

// Runs the passes before scheduling. InvalidArgument where both `as` and
// `passes` are given.
absl::StatusOr<Preparation> RunPreparation(const PrepareOptions& options,
                                           const PassRegistry& registry,
                                           HloModule* module);

// `num_partitions` in the header, if it is given.
void SetNumPartitions(const PrepareOptions& options, HloModule* module);

struct OneDevice {
  // What ran; unset where the module is as it was.
  std::optional<Preparation> preparation;
  // Why the module of all devices could not be compiled.
  absl::Status refusal;
};

// Compiles the module by pipeline `gpu` if it has yet to be partitioned, and
// can be: what all devices together need is what none of them does. Only where
// `one_device` is set, neither `as` nor `passes` say what to run, nor
// `schedule` or the module in which order it runs as it is. Errors: internal
// ones.
absl::StatusOr<OneDevice> CompileForOneDevice(
    const PrepareOptions& options, const PassRegistry& registry,
    std::unique_ptr<HloModule>* module);

// All of it. Errors: those of passes, alias analysis and scheduling.
absl::StatusOr<PreparedModule> PrepareModule(std::unique_ptr<HloModule> module,
                                             const PrepareOptions& options,
                                             const PassRegistry& registry);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_PREPARED_MODULE_H_
