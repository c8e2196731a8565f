#include "xla/backends/gpu/lowering/kernel_planner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"
#include "xla/backends/gpu/lowering/kernel_skeleton.h"
#include "xla/backends/gpu/model/threads_at_once.h"
#include "xla/backends/gpu/smem/baseline/stack_planner.h"
#include "xla/backends/gpu/smem/check/smem_plan_checker.h"
#include "xla/backends/gpu/smem/plan/plan_shared_memory.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"

namespace xla::gpu {
namespace {

bool UsesSharedMemory(const kir::Kernel& kernel) {
  return absl::c_any_of(kernel.buffers, [](const kir::Buffer& buffer) {
    return buffer.memory == kir::Memory::kShared;
  });
}

std::string Kinds(const LoweredKernel& lowered) {
  std::vector<std::string> kinds;
  for (const KernelPart& part : lowered.parts) {
    if (!absl::c_linear_search(kinds, part.kind)) {
      kinds.push_back(std::string(part.kind));
    }
  }
  return absl::StrJoin(kinds, "+");
}

std::string Reasons(const LoweredKernel& lowered) {
  std::vector<std::string> reasons;
  absl::flat_hash_set<std::string> seen;
  for (const KernelPart& part : lowered.parts) {
    std::string reason = absl::StrCat(part.kind, ": ", part.why);
    if (seen.insert(reason).second) reasons.push_back(std::move(reason));
  }
  return absl::StrJoin(reasons, "; ");
}

}  // namespace

absl::StatusOr<SmemPlan> PlanKernelMemory(const kir::Kernel& kernel,
                                          const GpuDevice& device,
                                          SmemMode mode, int registers) {
  if (mode != SmemMode::kStack) {
    SmemPlanOptions options;
    options.registers = registers;
    if (mode == SmemMode::kNoReuseSyncs) {
      options.reuse_syncs = SmemPlanOptions::ReuseSyncs::kNever;
    }
    return PlanSharedMemory(kernel, device, options);
  }
  // Its aliases are for values of whole tensors: a thread of these kernels
  // reads what others wrote, also where it only copies.
  StackPlanOptions options;
  options.alias = false;
  absl::StatusOr<SmemPlan> plan = PlanSharedMemoryAsStack(kernel, options);
  if (plan.ok() && plan->total_bytes > device.shared_per_block_max) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "shared memory of ", plan->total_bytes, " bytes, and ", device.name,
        " has ", device.shared_per_block_max, " for a block"));
  }
  return plan;
}

std::string KernelFingerprint(const HloInstruction& hlo) {
  const HloPrintOptions options = HloPrintOptions::Fingerprint()
                                      .set_print_only_essential_constants(false)
                                      .set_print_large_constants(true);
  std::string text = hlo.shape().ToString(/*print_layout=*/true);
  if (hlo.opcode() != HloOpcode::kFusion) {
    for (const HloInstruction* operand : hlo.operands()) {
      absl::StrAppend(&text, " ", operand->shape().ToString(true));
    }
    return absl::StrCat(text, " ", hlo.ToString(options));
  }
  // Where results must lie decides whether updates are made in place.
  for (const auto& [result, operand] : hlo.output_operand_aliasing()) {
    absl::StrAppend(&text, " ", result.ToString(), "=", operand.first,
                    operand.second.ToString());
  }
  return absl::StrCat(text, " ",
                      hlo.fused_instructions_computation()->ToString(options));
}

const KernelPlan& KernelPlanner::Plan(const HloInstruction& hlo) {
  const auto [plan, added] = plans_.try_emplace(KernelFingerprint(hlo));
  if (added) plan->second = Compute(hlo);
  return plan->second;
}

KernelPlan KernelPlanner::PlanSkeleton(const kir::Kernel& skeleton) const {
  KernelPlan result;
  absl::StatusOr<SmemPlan> plan =
      PlanKernelMemory(skeleton, device_, options_.mode, options_.registers);
  result.status = plan.status();
  if (plan.ok() && options_.check) result.status = CheckSmemPlan(*plan);
  if (!result.status.ok()) return result;
  result.shared_bytes = plan->total_bytes;
  result.live_bytes = plan->lower_bound_bytes;
  for (const SmemBufferPlan& buffer : plan->buffers) {
    if (plan->planned.buffers[buffer.buffer].memory == kir::Memory::kShared) {
      result.separate_bytes += buffer.bytes;
    }
  }
  result.barriers = plan->syncs_total;
  result.inserted_barriers = plan->NewBlockSyncs();
  return result;
}

// Two caches: kernels with equal fingerprints have equal plans, and of kernels
// that differ in arithmetic only the skeletons are equal, so that planning
// shared memory, the expensive part, is done once for them.
KernelPlan KernelPlanner::Compute(const HloInstruction& hlo) {
  KernelPlan result;
  absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo, options_.lowering);
  result.status = lowered.status();
  if (!lowered.ok()) return result;
  const kir::Kernel& kernel = lowered->kernel;
  // A kernel that breaks the rules of kernels is a fault of its lowering, and
  // no reason to refuse the module.
  if (options_.check) {
    const absl::Status valid = kir::VerifyKernel(kernel);
    if (!valid.ok()) {
      result.status = absl::UnimplementedError(
          absl::StrCat("lowered wrongly: ", valid.message()));
      return result;
    }
  }
  if (UsesSharedMemory(kernel)) {
    const kir::Kernel skeleton = KernelSkeleton(kernel);
    const auto [plan, added] =
        skeletons_.try_emplace(kir::PrintKernel(skeleton));
    if (added) plan->second = PlanSkeleton(skeleton);
    result = plan->second;
    if (!result.status.ok()) return result;
  }
  result.kind = Kinds(*lowered);
  result.why = Reasons(*lowered);
  result.blocks = kernel.launch->grid[0].AsConstant().value_or(1);
  result.threads = kernel.launch->block[0].AsConstant().value_or(1);
  result.blocks_per_sm =
      device_.BlocksPerSm(result.shared_bytes, static_cast<int>(result.threads),
                          options_.registers);
  if (result.blocks_per_sm == 0) {
    result.status = absl::ResourceExhaustedError(absl::StrCat(
        "a block of ", result.threads, " threads with ", result.shared_bytes,
        " bytes of shared memory does not fit a multiprocessor of ",
        device_.name));
  }
  return result;
}

FusionLoweringOptions LoweringOptionsFor(
    const se::DeviceDescription& description) {
  FusionLoweringOptions options;
  options.device_threads = ThreadsAtOnce(&description);
  options.shared_bytes = GpuDeviceOf(description).shared_per_block_max;
  return options;
}

GpuDevice GpuDeviceOf(const se::DeviceDescription& description) {
  const auto capability = description.cuda_compute_capability();
  const absl::StatusOr<GpuDevice> known =
      FindGpuDevice(absl::StrCat(capability.major, ".", capability.minor));
  GpuDevice device = known.ok() ? *known : AllGpuDevices().front();
  const auto take = [&](int64_t described, int64_t* bytes) {
    if (described > 0 || !known.ok()) *bytes = described;
  };
  take(description.shared_memory_per_block(), &device.shared_per_block);
  take(description.shared_memory_per_block_optin(),
       &device.shared_per_block_max);
  take(description.shared_memory_per_core(), &device.shared_per_sm);
  take(description.reserved_shared_memory_per_block(), &device.shared_reserved);
  device.shared_per_block_max =
      std::max(device.shared_per_block_max, device.shared_per_block);
  device.shared_per_sm =
      std::max(device.shared_per_sm, device.shared_per_block_max);
  if (known.ok()) return device;
  constexpr int kWarp = 32;
  device.name = "the device";
  device.compute_capability = 10 * capability.major + capability.minor;
  device.max_threads_per_sm =
      static_cast<int>(description.threads_per_core_limit());
  device.max_warps_per_sm = device.max_threads_per_sm / kWarp;
  device.registers_per_sm =
      static_cast<int>(description.registers_per_core_limit());
  return device;
}

}  // namespace xla::gpu
