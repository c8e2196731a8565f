#include "xla/hlo/transforms/memory/hlo_rematerialization.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/pass/check_scheduled.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::Duration kTooLong = absl::Minutes(3);

// That instructions, once removed, leave no gaps, and control dependencies are
// kept, so that they make no cycles.
absl::Status CheckSchedule(const HloComputation& computation,
                           const RematBuffers& buffers) {
  if (buffers.item_count() != computation.instruction_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the schedule of ", computation.name(), " has ", buffers.item_count(),
        " instructions, the computation ", computation.instruction_count()));
  }
  for (RematItemId id = 0; id < buffers.item_count(); ++id) {
    const RematBuffers::Item& item = buffers.item(id);
    if (!item.has_control_predecessors) continue;
    for (const HloInstruction* before :
         item.instruction->control_predecessors()) {
      if (before->parent() == &computation && buffers.Find(before) < id) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule has ", item.instruction->name(),
                       " before its control predecessor ", before->name()));
    }
  }
  return absl::OkStatus();
}

// That there are no cycles.
absl::Status CheckOrder(const HloComputation& computation) {
  absl::flat_hash_set<const HloInstruction*> before;
  for (const HloInstruction* inst : computation.MakeInstructionPostOrder()) {
    const auto is_before = [&](const HloInstruction* other) {
      return before.contains(other);
    };
    if (!absl::c_all_of(inst->operands(), is_before) ||
        !absl::c_all_of(inst->control_predecessors(), is_before)) {
      return absl::InvalidArgumentError(absl::StrCat(
          inst->name(), " of ", computation.name(), " needs itself"));
    }
    before.insert(inst);
  }
  return absl::OkStatus();
}

// All that could keep a schedule from following the changes.
absl::Status CheckModule(
    const HloModule& module, const RematBuffersByComputation& buffers,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (const HloComputation* computation :
       module.MakeNonfusionComputations(execution_threads)) {
    auto it = buffers.find(computation);
    TF_RETURN_IF_ERROR(it == buffers.end()
                           ? CheckOrder(*computation)
                           : CheckSchedule(*computation, it->second));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t HloRematerialization::ComputationPeakMemory(
    const HloComputation* computation) const {
  auto it = peaks_.find(computation);
  return it == peaks_.end() ? 0 : it->second;
}

absl::Status HloRematerialization::CheckOptions(const HloModule& module) const {
  TF_RETURN_IF_ERROR(CheckScheduled("rematerialization", module));
  if (options_.memory_limit_bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "memory limit of ", options_.memory_limit_bytes, " bytes"));
  }
  if (options_.block_size_limit < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "blocks of at most ", options_.block_size_limit, " instructions"));
  }
  if (!options_.remat_mode_config.host_offload) return absl::OkStatus();
  const auto& host = options_.host_memory_offload_config;
  if (!host.has_value() || !(host->bandwidth_to_host_bytes_per_second > 0) ||
      !(host->bandwidth_from_host_bytes_per_second > 0)) {
    return absl::InvalidArgumentError(
        "host offload needs a memory space and bandwidths above 0");
  }
  return absl::OkStatus();
}

int64_t HloRematerialization::NextChannelId() {
  return module_ == nullptr ? 1 : policy_.edits.NextChannelId(*module_);
}

void HloRematerialization::PreparePolicy() {
  policy_.edits = RematEdits();
  policy_.recompute = options_.remat_mode_config.recompute;
  policy_.compress = options_.remat_mode_config.compress;
  policy_.host_offload = options_.remat_mode_config.host_offload;
  policy_.min_remat_size = options_.min_remat_size;
  policy_.sizes.shape_size = options_.size_function;
  policy_.compact_shape = options_.compact_shape_function;
  policy_.cost_analysis = &options_.hlo_cost_analysis;
  policy_.direct_uses_only = options_.direct_uses_only;
  const bool peak_priority = options_.remat_algorithm == kPeakPriority;
  policy_.never_clone_clones = peak_priority;
  policy_.ignore_small_operands = peak_priority;
  policy_.count_each_read = peak_priority;
  policy_.host_memory.reset();
  if (options_.host_memory_offload_config.has_value()) {
    const HostMemoryOffloadConfig& host = *options_.host_memory_offload_config;
    policy_.host_memory = RematHostMemory{
        host.host_memory_space, host.bandwidth_to_host_bytes_per_second,
        host.bandwidth_from_host_bytes_per_second};
    policy_.sizes.host_memory_space = host.host_memory_space;
  }
}

absl::StatusOr<int64_t> HloRematerialization::AsyncBytes(
    const HloModule& module) const {
  int64_t most = 0;
  if (options_.async_computation_parallelism.empty()) return most;
  absl::flat_hash_set<absl::string_view> threads;
  for (const auto& [computation, count] :
       options_.async_computation_parallelism) {
    threads.insert(computation->execution_thread());
  }
  TF_ASSIGN_OR_RETURN(
      const RematPeak all,
      ComputeRematPeak(module, module.schedule(), policy_.sizes, threads));
  for (const auto& [computation, count] :
       options_.async_computation_parallelism) {
    auto it = all.computations.find(computation);
    if (it == all.computations.end()) continue;
    most = std::max(most, it->second.bytes * count);
  }
  return most;
}

absl::StatusOr<bool> HloRematerialization::Rewrite(
    HloModule* module, int64_t limit_bytes, xla::RematAlgorithm* algorithm) {
  HloComputation* entry = module->entry_computation();
  const absl::StatusOr<bool> changed =
      options_.remat_algorithm == kPeakPriority
          ? algorithm->PeakPriority(entry, limit_bytes)
          : algorithm->AlwaysRemat(entry, limit_bytes);
  if (!changed.ok()) {
    const absl::Status undone = policy_.edits.Undo();
    TF_RET_CHECK(undone.ok()) << undone << " after " << changed.status();
    return changed.status();
  }
  rematerialized_ = algorithm->rematerialized();
  net_added_ = algorithm->net_added();
  warned_slow_progress_ = algorithm->slow_progress();
  UpdateMaxRematerializedBlockSize(algorithm->largest_block());
  if (*changed) algorithm->Commit(module);
  return *changed;
}

void HloRematerialization::SetPeaks(
    const xla::RematAlgorithm::Peaks& computations) {
  peaks_.clear();
  for (const auto& [computation, of] : computations) {
    peaks_[computation] = of.bytes;
  }
}

void HloRematerialization::Report(const HloModule& module, absl::Time start) {
  if (absl::Now() - start_time_.value_or(start) > kTooLong) {
    warned_too_long_ = true;
    LOG(WARNING) << "rematerialization of " << module.name()
                 << " took more than " << absl::FormatDuration(kTooLong);
  }
  if (warned_slow_progress_) {
    LOG(WARNING) << "rematerialization of " << module.name()
                 << " lowered the peak by less than 1 % in a sub-pass";
  }
  if (options_.warn_if_missed &&
      sizes_.after_bytes > options_.memory_limit_bytes) {
    LOG(WARNING) << "rematerialization of " << module.name()
                 << " missed the limit of " << options_.memory_limit_bytes
                 << " bytes: from " << sizes_.before_bytes << " to "
                 << sizes_.after_bytes;
  }
}

absl::StatusOr<bool> HloRematerialization::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const absl::Time start = absl::Now();
  module_ = module;
  warned_too_long_ = warned_slow_progress_ = false;
  rematerialized_ = net_added_ = 0;
  peaks_.clear();
  const RematerializationModeConfig& mode = options_.remat_mode_config;
  if (!mode.recompute && !mode.compress && !mode.host_offload) return false;
  TF_RETURN_IF_ERROR(CheckOptions(*module));
  if (!execution_threads.empty() &&
      !execution_threads.contains(
          module->entry_computation()->execution_thread())) {
    return false;
  }
  PreparePolicy();
  if (mode.host_offload) {
    for (HloComputation* computation :
         ComputationsThatRun(*module, execution_threads)) {
      TF_RETURN_IF_ERROR(computation->Accept(&options_.hlo_cost_analysis));
    }
  }
  TF_ASSIGN_OR_RETURN(const int64_t async_bytes, AsyncBytes(*module));
  // What runs beside the entry counts there, not where it starts.
  RematBuffersByComputation buffers;
  TF_ASSIGN_OR_RETURN(
      RematPeak peak,
      ComputeRematPeak(*module, module->schedule(), policy_.sizes,
                       execution_threads,
                       options_.async_computation_parallelism, &buffers));
  sizes_.before_bytes = sizes_.after_bytes = peak.bytes + async_bytes;
  SetPeaks(peak.computations);
  if (sizes_.before_bytes <= options_.memory_limit_bytes) return false;
  TF_RETURN_IF_ERROR(CheckModule(*module, buffers, execution_threads));
  const int64_t beside_bytes = peak.output_bytes + async_bytes;
  RematSearchLimits limits;
  limits.block_size_limit = options_.block_size_limit;
  limits.block_effort_factor = options_.block_rematerialization_factor;
  limits.max_uses_rewritten = options_.max_uses_rewritten;
  xla::RematAlgorithm algorithm(&policy_, limits, std::move(peak.computations),
                                std::move(buffers));
  TF_ASSIGN_OR_RETURN(
      const bool changed,
      Rewrite(module,
              std::max<int64_t>(0, options_.memory_limit_bytes - beside_bytes),
              &algorithm));
  // What was dead before goes too. The schedule follows. There is no way back
  // any more, but neither can it fail: dead code depends on nothing that stays,
  // and CheckModule has seen that there are no cycles.
  const absl::StatusOr<bool> dead = HloDCE().Run(module, execution_threads);
  CHECK_OK(dead.status());
  if (*dead) {
    const absl::StatusOr<RematPeak> after = ComputeRematPeak(
        *module, module->schedule(), policy_.sizes, execution_threads,
        options_.async_computation_parallelism);
    CHECK_OK(after.status());
    SetPeaks(after->computations);
    sizes_.after_bytes = after->bytes + async_bytes;
  } else if (changed) {
    SetPeaks(algorithm.MeasureAgain(
        ComputationsThatRun(*module, execution_threads)));
    sizes_.after_bytes =
        ComputationPeakMemory(module->entry_computation()) + beside_bytes;
  }
  Report(*module, start);
  return changed || *dead;
}

}  // namespace xla
