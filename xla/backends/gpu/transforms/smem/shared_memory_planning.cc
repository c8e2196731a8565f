#include "xla/backends/gpu/transforms/smem/shared_memory_planning.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/lowering/kernel_config.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::Status SharedMemoryPlanning::StartReport(const HloModule&) {
  report_.emplace();
  return absl::OkStatus();
}

absl::StatusOr<PassReport> SharedMemoryPlanning::FinishReport(
    const HloModule& after) {
  TF_RET_CHECK(report_.has_value()) << "FinishReport() without StartReport()";
  TF_ASSIGN_OR_RETURN(PassReport report, report_->Finish(name(), after.name()));
  report_.reset();
  return report;
}

absl::StatusOr<bool> SharedMemoryPlanning::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  constexpr int64_t kMostRegisters = 255;
  if (options_.registers < 0 || options_.registers > kMostRegisters) {
    return absl::InvalidArgumentError(
        absl::StrCat("registers=", options_.registers, " per thread: 0 to ",
                     kMostRegisters));
  }
  ASSIGN_OR_RETURN(const se::DeviceDescription description,
                   LoadGpuDevice(options_.device));
  KernelPlannerOptions planner_options;
  planner_options.lowering = LoweringOptionsFor(description);
  planner_options.mode = options_.stack          ? SmemMode::kStack
                         : !options_.reuse_syncs ? SmemMode::kNoReuseSyncs
                                                 : SmemMode::kLiveRanges;
  planner_options.check = options_.check;
  planner_options.registers = static_cast<int>(options_.registers);
  KernelPlanner planner(GpuDeviceOf(description), planner_options);
  bool changed = false;
  int64_t kernels = 0, not_lowered = 0, largest = 0, live = 0, separate = 0,
          barriers = 0, inserted = 0;
  for (const HloInstruction* kernel : FindKernels(*module)) {
    HloComputation* computation = const_cast<HloComputation*>(kernel->parent());
    if (!execution_threads.empty() &&
        !execution_threads.contains(computation->execution_thread())) {
      continue;
    }
    if (const HloInstruction* call = LibraryCall(*kernel)) {
      if (report_.has_value()) report_->AddCall(*kernel, *call);
      continue;
    }
    ++kernels;
    const KernelPlan& plan = planner.Plan(*kernel);
    if (report_.has_value()) report_->AddKernel(*kernel, plan);
    if (absl::IsUnimplemented(plan.status)) {
      ++not_lowered;
      continue;
    }
    if (!plan.status.ok()) {
      return absl::Status(
          plan.status.code(),
          absl::StrCat("kernel ", kernel->name(), ": ", plan.status.message()));
    }
    largest = std::max(largest, plan.shared_bytes);
    live += plan.live_bytes;
    separate += plan.separate_bytes;
    barriers += plan.barriers;
    inserted += plan.inserted_barriers;
    const std::string& config = kernel->raw_backend_config_string();
    ASSIGN_OR_RETURN(const std::string entry,
                     KernelConfigText(plan, planner_options.registers,
                                      planner_options.mode));
    std::string with = WithKernelConfig(config, entry);
    if (with == config) continue;
    changed = true;
    const_cast<HloInstruction*>(kernel)->set_raw_backend_config_string(
        std::move(with));
  }
  SetKVMetric(module, "kernels", kernels);
  SetKVMetric(module, "kernels_distinct", planner.lowered());
  SetKVMetric(module, "kernels_planned", planner.planned());
  SetKVMetric(module, "kernels_not_lowered", not_lowered);
  SetKVMetric(module, "shared_bytes", largest);
  SetKVMetric(module, "live_bytes", live);
  SetKVMetric(module, "separate_bytes", separate);
  SetKVMetric(module, "barriers", barriers);
  SetKVMetric(module, "inserted_barriers", inserted);
  return changed;
}

}  // namespace xla::gpu
