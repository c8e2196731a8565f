#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SMEM_SHARED_MEMORY_PLANNING_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SMEM_SHARED_MEMORY_PLANNING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/transforms/smem/lowering_report.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/reporting_pass.h"

namespace xla::gpu {

struct SharedMemoryPlanningOptions {
  std::string device = "h100";
  bool stack = false;
  bool reuse_syncs = true;
  bool check = true;
  int64_t registers = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("stack", stack,
          "plan like a stack allocator instead of by live ranges, for "
          "comparison: its kernels may race");
    visit("reuse-syncs", reuse_syncs,
          "insert barriers so that buffers can share memory; not used if "
          "stack");
    visit("check", check,
          "verify every plan with a checker independent of the planner");
    visit("registers", registers,
          "registers per thread, if known; they bound the blocks per "
          "multiprocessor");
  }
};

// Finds addresses and barriers for the kernel of each fusion, and of each other
// instruction that becomes a kernel, and records what it launches.
//
//   before: s = f32[3,600] fusion(p), kind=kInput, calls=softmax
//   after:  the same, backend_config={"kernel_config":{
//             "kind":"row-reduction", "blocks":"2", "threads":"256",
//             "shared_bytes":"1024", "barriers":"6", "blocks_per_sm":"8"}}
//
//   each kernel is lowered (fusion_lowering.h), its shared memory is planned
//   (plan_shared_memory.h), the plan checked (smem_plan_checker.h); kernels
//   that compute the same are planned once (kernel_planner.h)
//
// In the report: kernels, kernels_planned (different ones),
// kernels_not_lowered, shared_bytes (of the largest block), live_bytes and
// separate_bytes (of all kernels), barriers, inserted_barriers. Near-linear in
// the module.
//
// With --explain (by its name or as `lowering`): for each distinct kernel its
// kind and the reason, or why it has no lowering (lowering_report.h).
//
// Leaves alone what libraries compute and what has no lowering yet. Errors: an
// unknown device; ResourceExhausted, with the kernel's name, if a block needs
// more than the device grants; errors of the planner or the checker, with the
// kernel's name.
class SharedMemoryPlanning : public HloModulePass, public ReportingPass {
 public:
  explicit SharedMemoryPlanning(SharedMemoryPlanningOptions options = {})
      : options_(std::move(options)) {}

  absl::string_view name() const override { return "shared-memory-planning"; }

  absl::Status StartReport(const HloModule& before) override;
  absl::StatusOr<PassReport> FinishReport(const HloModule& after) override;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  SharedMemoryPlanningOptions options_;
  std::optional<LoweringReport> report_;  // of a run that was asked for
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SMEM_SHARED_MEMORY_PLANNING_H_
