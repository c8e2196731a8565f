#include "xla/hlo/transforms/collectives/whole_graph_manual_pass.h"

#include <memory>

#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/hlo/utils/manual_region.h"

namespace xla {
namespace {

bool MustBeManual(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kParameter || inst.IsRoot() ||
         inst.opcode() == HloOpcode::kPartitionId ||
         hlo_query::IsCollectiveCommunicationOp(inst.opcode()) ||
         inst.HasSideEffectNoRecurse();
}

bool HasBorders(
    const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  for (const HloComputation* computation :
       module.computations(execution_threads)) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (IsManualBorder(*inst)) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> WholeGraphManualPass::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (HasBorders(*module, execution_threads)) return false;
  const std::unique_ptr<CallGraph> call_graph =
      CallGraph::Build(module, execution_threads);
  bool changed = false;
  for (HloComputation* computation : module->computations(execution_threads)) {
    const bool control_flow =
        call_graph->GetNode(computation).context() != CallContext::kEmbedded;
    for (HloInstruction* inst : computation->instructions()) {
      if (control_flow && MustBeManual(*inst)) {
        // An outfeed's is that of what it feeds.
        const HloSharding manual = HloSharding::Single(
            inst->opcode() == HloOpcode::kOutfeed ? inst->operand(0)->shape()
                                                  : inst->shape(),
            HloSharding::Manual());
        if (inst->has_sharding() && inst->sharding() == manual) continue;
        inst->set_sharding(manual);
        changed = true;
      } else if (inst->has_sharding()) {
        inst->clear_sharding();
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace xla
