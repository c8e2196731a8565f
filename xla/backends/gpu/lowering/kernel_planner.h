#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_PLANNER_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_PLANNER_H_

#include <cstdint>
#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

// What kernels need of a multiprocessor. Each kernel is lowered once for all
// that compute the same; its shared memory is planned, and the plan checked,
// once for all that use it in the same way (kernel_skeleton.h).

namespace xla::gpu {

// By live ranges, with barriers so that buffers can share memory; by live
// ranges without any; or as a stack allocator does, whose kernels may race
// (stack_planner.h). The last two are there for comparison.
// kStack: without aliases.
enum class SmemMode { kLiveRanges, kNoReuseSyncs, kStack };

// ResourceExhausted where the device grants a block less. `registers` of a
// thread; 0: not known.
absl::StatusOr<SmemPlan> PlanKernelMemory(const kir::Kernel& kernel,
                                          const GpuDevice& device,
                                          SmemMode mode, int registers = 0);

struct KernelPlan {
  absl::Status status;  // the rest is there if it is OK
  std::string kind;     // of its parts: "row-reduction", "transpose+loop", …
  // Each different part once: its kind, and why it is of it.
  std::string why;
  int64_t blocks = 0;
  int64_t threads = 0;  // of a block
  int64_t shared_bytes = 0;
  // The most bytes live at once, and the sum of its buffers' sizes.
  int64_t live_bytes = 0;
  int64_t separate_bytes = 0;
  int64_t barriers = 0;           // statements that are barriers of the block
  int64_t inserted_barriers = 0;  // of them, by the planner
  int blocks_per_sm = 0;
};

struct KernelPlannerOptions {
  FusionLoweringOptions lowering;
  SmemMode mode = SmemMode::kLiveRanges;
  bool check = true;  // check plans
  int registers = 0;  // of a thread; 0: not known
};

class KernelPlanner {
 public:
  explicit KernelPlanner(const GpuDevice& device,
                         const KernelPlannerOptions& options = {})
      : device_(device), options_(options) {}

  // Its status is that of LowerFusion, of the planner, or of the checker;
  // ResourceExhausted where a block needs more than the device grants one.
  // Valid while the planner lives.
  const KernelPlan& Plan(const HloInstruction& hlo);

  // Kernels lowered, of those asked for, and plans made for them.
  int64_t lowered() const { return plans_.size(); }
  int64_t planned() const { return skeletons_.size(); }
  const GpuDevice& device() const { return device_; }

 private:
  KernelPlan Compute(const HloInstruction& hlo);
  // Shared memory and barriers.
  KernelPlan PlanSkeleton(const kir::Kernel& skeleton) const;

  const GpuDevice device_;
  const KernelPlannerOptions options_;
  // Looked up only.
  absl::node_hash_map<std::string, KernelPlan> plans_, skeletons_;
};

// Kernels for as many threads as the device runs at once, in round numbers:
// those of an H100, where it is not known; and for the shared memory that a
// block may ask for.
FusionLoweringOptions LoweringOptionsFor(
    const se::DeviceDescription& description);

// Equal for kernels that compute the same: structure, shapes and constants,
// without names.
std::string KernelFingerprint(const HloInstruction& hlo);

// The multiprocessor of a device: that of its generation if it is a known one,
// but with what the description says of shared memory; of others, as it says.
GpuDevice GpuDeviceOf(const se::DeviceDescription& description);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_PLANNER_H_
