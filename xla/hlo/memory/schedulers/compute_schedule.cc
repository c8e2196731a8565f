#include "xla/hlo/memory/schedulers/compute_schedule.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/hlo/memory/graph/memory_lower_bound.h"
#include "xla/hlo/memory/schedulers/bf_scheduler.h"
#include "xla/hlo/memory/schedulers/default_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/dfs_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/list_memory_scheduler.h"
#include "xla/hlo/memory/schedulers/post_order_scheduler.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr std::pair<absl::string_view, ScheduleAlgorithm> kAlgorithmNames[] = {
    {"list", ScheduleAlgorithm::kList},
    {"dfs", ScheduleAlgorithm::kDfs},
    {"postorder", ScheduleAlgorithm::kPostOrder},
    {"bfs", ScheduleAlgorithm::kBfs},
    {"default", ScheduleAlgorithm::kDefault},
    {"best", ScheduleAlgorithm::kBest},
    {"as-is", ScheduleAlgorithm::kAsIs},
};

// The bound of the entry from single steps, callees counted by theirs.
//
// A lower bound that holds for every order: operands and results of one
// instruction must be in memory together.
absl::StatusOr<MemoryBound> QuickLowerBound(
    const HloModule& module, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_function,
    const HloInstruction** instruction) {
  MemoryBound bound;
  *instruction = nullptr;
  TF_RETURN_IF_ERROR(
      ForEachComputationMemory(
          module, alias_analysis, alias_info, size_function,
          [&](HloComputation*,
              const HloMemoryGraph& memory) -> absl::StatusOr<int64_t> {
            bound = AnyOrderLowerBound(memory.graph, {}, /*steps=*/0);
            *instruction = bound.node == MemoryGraph::kStart
                               ? nullptr
                               : memory.instructions[bound.node];
            return bound.bytes;
          })
          .status());
  return bound;
}

}  // namespace

bool AbslParseFlag(absl::string_view text, ScheduleAlgorithm* algorithm,
                   std::string* error) {
  for (const auto& [name, value] : kAlgorithmNames) {
    if (name != text) continue;
    *algorithm = value;
    return true;
  }
  *error = "expected list, dfs, postorder, bfs, default, best or as-is";
  return false;
}

std::string AbslUnparseFlag(ScheduleAlgorithm algorithm) {
  for (const auto& [name, value] : kAlgorithmNames) {
    if (value == algorithm) return std::string(name);
  }
  return "unknown";
}

absl::StatusOr<std::unique_ptr<ModuleSchedulerAlgorithm>>
MakeSchedulerAlgorithm(const ScheduleOptions& options) {
  BufferValue::SizeFunction size_function =
      options.size_function ? options.size_function : DefaultSizeFunction();
  const AliasInfo* alias_info = options.alias_info;
  std::unique_ptr<ModuleSchedulerAlgorithm> result;
  switch (options.algorithm) {
    case ScheduleAlgorithm::kList:
      result = std::make_unique<ListMemoryScheduler>(alias_info, size_function,
                                                     options.postprocessor);
      break;
    case ScheduleAlgorithm::kDfs:
      result = std::make_unique<DFSMemoryScheduler>(alias_info, size_function,
                                                    options.postprocessor);
      break;
    case ScheduleAlgorithm::kPostOrder:
      result = std::make_unique<PostOrderScheduler>(alias_info, size_function,
                                                    options.postprocessor);
      break;
    case ScheduleAlgorithm::kBfs:
      result = std::make_unique<BFScheduler>(alias_info, size_function,
                                             options.postprocessor);
      break;
    case ScheduleAlgorithm::kDefault:
      result = std::make_unique<DefaultMemoryScheduler>(
          alias_info, size_function, options.postprocessor);
      break;
    case ScheduleAlgorithm::kBest:
      result = std::make_unique<BestMemoryScheduler>(
          alias_info, size_function, options.effort, options.postprocessor);
      break;
    case ScheduleAlgorithm::kAsIs:
      return absl::InvalidArgumentError("as-is schedules nothing");
  }
  return result;
}

absl::StatusOr<ScheduleResult> ComputeSchedule(HloModule* module,
                                               const ScheduleOptions& options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(module, options.alias_info));
  return ComputeSchedule(module, *alias_analysis, options);
}

absl::StatusOr<ScheduleResult> ComputeSchedule(
    HloModule* module, const HloAliasAnalysis& alias_analysis,
    const ScheduleOptions& options) {
  absl::Time begin = absl::Now();
  BufferValue::SizeFunction size_function =
      options.size_function ? options.size_function : DefaultSizeFunction();
  ScheduleResult result = {HloSchedule(module)};
  result.algorithm = options.algorithm;
  result.winner = AbslUnparseFlag(options.algorithm);
  if (options.algorithm == ScheduleAlgorithm::kBest) {
    BestMemoryScheduler::Report report;
    TF_ASSIGN_OR_RETURN(
        result.schedule,
        BestMemoryScheduler(options.alias_info, size_function, options.effort,
                            options.postprocessor)
            .RunWithReport(module, alias_analysis, options.execution_threads,
                           &report));
    result.peak_bytes = report.peak_bytes;
    result.any_order_lower_bound_bytes = report.lower_bound_bytes;
    result.lower_bound_instruction = report.lower_bound_instruction;
    result.winner = report.algorithm;
  } else if (options.algorithm == ScheduleAlgorithm::kAsIs) {
    if (!module->has_schedule()) {
      return absl::FailedPreconditionError(
          absl::StrCat("module ", module->name(), " has no schedule"));
    }
    result.schedule = module->schedule();
    TF_ASSIGN_OR_RETURN(result.peak_bytes,
                        PeakOfSchedule(result.schedule, alias_analysis,
                                       options.alias_info, size_function));
  } else if (options.algorithm == ScheduleAlgorithm::kDefault) {
    MemorySchedulerMetrics metrics;
    TF_ASSIGN_OR_RETURN(
        result.schedule,
        DefaultMemoryScheduler(options.alias_info, size_function,
                               options.postprocessor)
            .RunWithMetrics(module, alias_analysis, options.execution_threads,
                            &result.peak_bytes, &metrics));
    result.winner = metrics.schedulers(metrics.selected_index()).name();
  } else {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<ModuleSchedulerAlgorithm> algorithm,
                        MakeSchedulerAlgorithm(options));
    TF_ASSIGN_OR_RETURN(
        result.schedule,
        algorithm->Run(module, alias_analysis, options.execution_threads,
                       &result.peak_bytes));
  }
  TF_RETURN_IF_ERROR(result.schedule.Verify());
  if (options.algorithm != ScheduleAlgorithm::kBest) {
    TF_ASSIGN_OR_RETURN(
        MemoryBound bound,
        QuickLowerBound(*module, alias_analysis, options.alias_info,
                        size_function, &result.lower_bound_instruction));
    result.any_order_lower_bound_bytes = bound.bytes;
  }
  result.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  return result;
}

}  // namespace xla
