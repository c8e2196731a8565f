#include "xla/hlo/transforms/memory/remat/planner/remat_work.h"

#include <algorithm>
#include <memory>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/module_variant.h"
#include "xla/status_macros.h"

namespace xla {

RematWork RematWorkOf(const HloCostAnalysis& cost) {
  return {cost.flop_count(), cost.bytes_accessed(), cost.optimal_seconds()};
}

absl::StatusOr<RematWork> ComputeRematWork(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloCostAnalysis> cost,
                      remat_plan::CostOfModule(module, device));
  return RematWorkOf(*cost);
}

// Walks the chain of instructions at the peak from the entry inwards and
// collects the buffers that are live at each of them.
absl::StatusOr<std::vector<RematBindingBuffer>> FindBindingBuffers(
    const HloModule& module, const RematSizeOptions& sizes) {
  std::vector<RematBindingBuffer> binding;
  TF_ASSIGN_OR_RETURN(RematPeak peak,
                      ComputeRematPeak(module, module.schedule(), sizes));
  // From the entry inwards.
  for (const HloInstruction* at : peak.at) {
    TF_ASSIGN_OR_RETURN(
        RematBuffers buffers,
        RematBuffers::Build(module.schedule().sequence(at->parent()), sizes));
    const RematItemId now = buffers.Find(at);
    for (RematBufferId id = 0; id < buffers.buffer_count(); ++id) {
      const RematBuffer& buffer = buffers.buffer(id);
      const RematItemId last =
          buffer.users.empty() ? buffer.definer : buffer.users.back();
      if (buffer.bytes == 0 || buffer.definer > now || last < now) continue;
      binding.push_back(
          {buffers.item(buffer.definer).instruction, buffer.bytes});
    }
  }
  std::stable_sort(
      binding.begin(), binding.end(),
      [](const RematBindingBuffer& a, const RematBindingBuffer& b) {
        return a.bytes > b.bytes;
      });
  return binding;
}

}  // namespace xla
