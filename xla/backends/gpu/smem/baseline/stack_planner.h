#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_PLANNER_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_PLANNER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// Plans shared memory the way nvFuser did in April 2026: the baseline that the
// default planner is compared with, and one of its candidates.
//
//   analyze -> alias (stack_alias.h) -> barriers for promoted buffers
//   (stack_allocator.h) -> when one was inserted, analyze again -> addresses
//   -> RAW, WAR and asynchronous syncs (required_syncs.h)
//
// It repeats that compiler's decisions even where they are unsound: live ranges
// that are lost when the analysis runs a second time, barriers that not all
// threads reach, transfers in flight. Run the race checker on its plans.

namespace xla::gpu {

struct StackPlanOptions {
  bool alias = true;
  bool circular = true;        // mbarriers for bulk loads; split loops
  bool promote = true;         // insert barriers for promoted buffers
  bool required_syncs = true;  // insert RAW, WAR and asynchronous syncs
  // Alignment of buffers that ask for none, in bytes; over `option min_align`.
  std::optional<int64_t> min_align;
};

// InvalidArgument, with its place, for sizes that are not numbers under the
// bindings of the kernel, and for buffers that are read before they are written
// or never written.
absl::StatusOr<SmemPlan> PlanSharedMemoryAsStack(
    const kir::Kernel& kernel, const StackPlanOptions& options = {});

// Bytes of the workspace of block reductions, a multiple of 128: one element of
// the widest reduced type per thread, three for Welford. 0 unless the kernel
// says `option reduction_workspace = 1`.
absl::StatusOr<int64_t> ReductionWorkspaceBytes(const kir::Kernel& kernel);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_STACK_PLANNER_H_
