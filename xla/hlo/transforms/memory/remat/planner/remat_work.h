#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_WORK_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_WORK_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/loops/remat_device.h"

namespace xla {

// The work of one execution of a module, loops multiplied by their trip counts.
struct RematWork {
  double flops = 0;
  double bytes = 0;  // moved
  double seconds = 0;
};

// The work of a module whose entry computation the analysis has visited.
RematWork RematWorkOf(const HloCostAnalysis& cost);
absl::StatusOr<RematWork> ComputeRematWork(
    const HloModule& module, const HloCostAnalysis::Options& device);

// A buffer that no plan found removes at the point where the most memory is
// needed.
struct RematBindingBuffer {
  const HloInstruction* instruction = nullptr;
  int64_t bytes = 0;
};

// The values live at the peak of a scheduled module, by rematerialization's
// accounting: largest first.
absl::StatusOr<std::vector<RematBindingBuffer>> FindBindingBuffers(
    const HloModule& module, const RematSizeOptions& sizes = {});

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_REMAT_WORK_H_
