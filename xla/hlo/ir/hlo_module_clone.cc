// Copies of modules.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

std::unique_ptr<HloModule> HloModule::Clone(
    const std::string& suffix,
    std::optional<const HloModuleConfig> config) const {
  return CloneWithContext(suffix, std::move(config)).first;
}

std::pair<std::unique_ptr<HloModule>, std::unique_ptr<HloCloneContext>>
HloModule::CloneWithContext(const std::string& suffix,
                            std::optional<const HloModuleConfig> config) const {
  auto module = std::make_unique<HloModule>(
      suffix.empty() ? name_ : absl::StrCat(name_, "-", suffix),
      config.has_value() ? std::make_shared<const HloModuleConfig>(*config)
                         : shared_config(),
      std::make_unique<CompilationEnvironments>(*comp_envs_));
  auto context = std::make_unique<HloCloneContext>(module.get(), suffix);
  context->ReserveInstructions(instruction_count());

  // Callees first, so that callers find the clones to call; then everything is
  // added in the original order of storage.
  std::vector<std::unique_ptr<HloComputation>> clones(computations_.size());
  for (const HloComputation* computation : MakeComputationPostOrder()) {
    std::unique_ptr<HloComputation> clone = computation->CloneInContext(
        *context, /*replacements=*/nullptr, /*extra_parameters=*/{}, suffix);
    clone->CopyLocalIdsFromComputation(*computation, *context);
    clone->SetUniqueId(computation->unique_id());
    clones[computation->position_in_module_] = std::move(clone);
  }
  for (size_t i = 0; i < clones.size(); ++i) {
    if (clones[i] == nullptr) continue;
    const bool is_entry = computations_[i].get() == entry_computation_;
    module->AddComputationInternal(std::move(clones[i]), is_entry,
                                   Naming::kKeep,
                                   /*preserve_entry_layouts=*/false);
  }
  CloneExtrasTo(module.get(), *context);
  return {std::move(module), std::move(context)};
}

void HloModule::CloneExtrasTo(HloModule* module,
                              const HloCloneContext& context) const {
  module->HloModuleAttributes::operator=(*this);
  module->next_unique_computation_id_ = next_unique_computation_id_;
  module->input_output_alias_config_ = input_output_alias_config_;
  module->buffer_donor_config_ = buffer_donor_config_;
  module->stack_frames_ = stack_frames_;
  module->metadata_ = metadata_;
  module->metadata_.set_canonical_module_id(module->unique_id());
  for (const auto& [array, recovery] : original_value_recovery_table_) {
    module->original_value_recovery_table_.emplace(
        array,
        {recovery.first,
         recovery.second == nullptr ? nullptr : recovery.second->Clone("")});
  }
  if (!schedule_.has_value()) return;
  HloSchedule schedule(module);
  for (const HloComputation* computation : computations()) {
    if (!schedule_->is_computation_scheduled(computation)) continue;
    HloInstructionSequence sequence;
    sequence.reserve(schedule_->sequence(computation).size());
    for (const HloInstruction* instruction :
         schedule_->sequence(computation).instructions()) {
      HloInstruction* clone = context.FindInstruction(instruction);
      if (clone != nullptr) sequence.push_back(clone);
    }
    schedule.set_sequence(context.GetComputation(computation),
                          std::move(sequence));
  }
  module->schedule_ = std::move(schedule);
}

HloComputation* HloModule::DeepCloneComputation(HloComputation* computation,
                                                HloCloneContext* context) {
  if (context != nullptr) {
    CHECK(context->module() == this);
    return AddEmbeddedComputation(
        computation->Clone(context->suffix(), context));
  }
  HloCloneContext own_context(this);
  return AddEmbeddedComputation(
      computation->CloneInContext(own_context, /*replacements=*/nullptr,
                                  /*extra_parameters=*/{}, /*suffix=*/""));
}

}  // namespace xla
