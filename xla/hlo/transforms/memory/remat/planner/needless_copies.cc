#include "xla/hlo/transforms/memory/remat/planner/needless_copies.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

bool IsPlainCopy(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kCopy && !inst.IsRoot() &&
         !inst.HasControlDependencies() &&
         ShapeUtil::Equal(inst.shape(), inst.operand(0)->shape());
}

// What a module's values are and when they are read, as it stands.
class Reads {
 public:
  static absl::StatusOr<Reads> Of(const HloModule& module,
                                  const AliasInfo* alias_info) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> buffers,
                        HloAliasAnalysis::Run(&module, alias_info));
    return Reads(module, alias_info, std::move(buffers));
  }

  // Whether all readers of the copy find the same in what it copies.
  //
  // Whoever reads the copy can read the source instead if no other value of the
  // source's buffer is written between the source and the last of these reads:
  // each is defined either before the source or after all of them. The copy
  // must be the only value of its own buffer, as otherwise something writes
  // into it in place, and would then write into the source.
  bool IsNeedless(const HloInstruction& copy) const {
    const HloDataflowAnalysis& dataflow = buffers_->dataflow_analysis();
    const HloValueSet& copied = dataflow.GetValueSet(copy.operand(0));
    if (copied.values().size() != 1) return false;
    const HloValue& source = *copied.values().front();
    const HloValue& value = dataflow.GetUniqueValueAt(&copy);
    const HloBuffer& own = buffers_->GetBufferContainingValue(value);
    if (own.values().size() != 1 || buffers_->BufferLivesOut(own)) {
      return false;
    }
    std::vector<const HloUse*> uses;
    for (const HloUse& use : value.GetUses()) uses.push_back(&use);
    return absl::c_all_of(buffers_->GetBufferContainingValue(source).values(),
                          [&](const HloValue* other) {
                            return other == &source ||
                                   ordering_->IsDefinedBefore(*other, source) ||
                                   ordering_->UsesBeforeValueDefinition(
                                       uses, *other, dataflow, alias_info_);
                          });
  }

 private:
  Reads(const HloModule& module, const AliasInfo* alias_info,
        std::unique_ptr<HloAliasAnalysis> buffers)
      : alias_info_(alias_info),
        buffers_(std::move(buffers)),
        ordering_(std::make_unique<SequentialHloOrdering>(module.schedule())) {}

  const AliasInfo* alias_info_;
  std::unique_ptr<HloAliasAnalysis> buffers_;
  std::unique_ptr<SequentialHloOrdering> ordering_;
};

}  // namespace

absl::StatusOr<bool> DropNeedlessCopies(
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    HloModule* module) {
  const gpu::GpuAliasInfo alias_info;
  bool any = false;
  // A copy of a copy waits for the analysis of what is left.
  for (bool again = true; again;) {
    again = false;
    std::vector<HloInstruction*> copies;
    for (HloComputation* computation :
         module->MakeNonfusionComputations(execution_threads)) {
      if (!module->schedule().is_computation_scheduled(computation)) continue;
      absl::c_copy_if(
          module->schedule().sequence(computation).instructions(),
          std::back_inserter(copies),
          [](const HloInstruction* inst) { return IsPlainCopy(*inst); });
    }
    if (copies.empty()) break;
    TF_ASSIGN_OR_RETURN(const Reads reads, Reads::Of(*module, &alias_info));
    std::vector<HloInstruction*> needless;
    absl::flat_hash_set<const HloInstruction*> dropped;
    for (HloInstruction* copy : copies) {
      if (dropped.contains(copy->operand(0))) {
        again = true;
      } else if (reads.IsNeedless(*copy)) {
        needless.push_back(copy);
        dropped.insert(copy);
      }
    }
    for (HloInstruction* copy : needless) {
      HloComputation* computation = copy->parent();
      TF_RETURN_IF_ERROR(copy->ReplaceAllUsesWith(copy->mutable_operand(0)));
      module->schedule().remove_instruction(computation, copy);
      TF_RETURN_IF_ERROR(computation->RemoveInstruction(copy));
      any = true;
    }
  }
  return any;
}

}  // namespace xla::remat_plan
