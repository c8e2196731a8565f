// Adding, removing and replacing computations of a module.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

HloComputation* HloModule::AddComputationInternal(
    std::unique_ptr<HloComputation> computation, bool is_entry, Naming naming,
    bool preserve_entry_layouts) {
  HloComputation* added = computation.get();
  CHECK(added->parent_ == nullptr || added->parent_ == this)
      << added->name() << " is in another module";
  if (is_entry) {
    CHECK(entry_computation_ == nullptr) << "the module has an entry already";
    entry_computation_ = added;
    if (preserve_entry_layouts) {
      mutable_config().SetComputationLayoutIfExists(
          added->ComputeProgramShape());
    } else if (!config().has_entry_computation_layout()) {
      mutable_config().SetDefaultComputationLayout(
          added->ComputeProgramShape());
    }
    input_output_alias_config_ =
        HloInputOutputAliasConfig(added->root_instruction()->shape());
    buffer_donor_config_ = HloBufferDonorConfig();
  }
  if (naming == Naming::kUniquify) {
    added->UniquifyName(&computation_name_uniquer_);
    NameUniquer& names = instruction_name_uniquer();
    for (HloInstruction* instruction : added->instructions()) {
      instruction->UniquifyName(&names);
    }
    added->names_are_registered_ = true;
  } else {
    computation_name_uniquer_.RegisterName(added->name());
    // Registering instruction names costs as much as parsing them, so it is
    // deferred until a new name is needed.
    added->names_are_registered_ = false;
    has_unregistered_names_ = true;
  }
  if (added->unique_id() < 0 ||
      !used_computation_ids_.insert(added->unique_id()).second) {
    added->SetUniqueId(next_unique_computation_id_);
    used_computation_ids_.insert(next_unique_computation_id_);
  }
  next_unique_computation_id_ =
      std::max(next_unique_computation_id_, added->unique_id() + 1);
  added->parent_ = this;
  added->position_in_module_ = static_cast<int32_t>(computations_.size());
  computations_.push_back(std::move(computation));
  ++computation_count_;
  return added;
}

HloComputation* HloModule::AddEntryComputation(
    std::unique_ptr<HloComputation> computation) {
  return AddComputationInternal(std::move(computation), /*is_entry=*/true,
                                Naming::kUniquify,
                                /*preserve_entry_layouts=*/false);
}

HloComputation* HloModule::AddEntryComputationWithLayouts(
    std::unique_ptr<HloComputation> computation) {
  return AddComputationInternal(std::move(computation), /*is_entry=*/true,
                                Naming::kUniquify,
                                /*preserve_entry_layouts=*/true);
}

HloComputation* HloModule::AddEmbeddedComputation(
    std::unique_ptr<HloComputation> computation) {
  return AddComputationInternal(std::move(computation), /*is_entry=*/false,
                                Naming::kUniquify,
                                /*preserve_entry_layouts=*/false);
}

HloComputation* HloModule::AddComputation(
    std::unique_ptr<HloComputation> computation, bool is_entry) {
  return AddComputationInternal(
      std::move(computation), is_entry, Naming::kKeep,
      /*preserve_entry_layouts=*/!config().has_entry_computation_layout());
}

HloComputation* HloModule::AddComputationAndUnifyNamesAndIds(
    std::unique_ptr<HloComputation> computation, bool is_entry) {
  computation->ClearUniqueIdInternal();
  return AddComputationInternal(
      std::move(computation), is_entry, Naming::kUniquify,
      /*preserve_entry_layouts=*/!config().has_entry_computation_layout());
}

void HloModule::ReplaceEntryComputation(HloComputation* entry_computation) {
  CHECK(entry_computation->parent() == this);
  entry_computation_ = entry_computation;
  mutable_config().SetDefaultComputationLayout(
      entry_computation->ComputeProgramShape());
  input_output_alias_config_ =
      HloInputOutputAliasConfig(entry_computation->root_instruction()->shape());
  buffer_donor_config_ = HloBufferDonorConfig();
}

// --- Removal -----------------------------------------------------------------

absl::Status HloModule::RemoveComputationAt(int64_t position) {
  std::unique_ptr<HloComputation>& slot = computations_[position];
  if (slot.get() == entry_computation_) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot remove entry computation ", slot->name()));
  }
  if (schedule_.has_value() &&
      schedule_->is_computation_scheduled(slot.get())) {
    schedule_->remove_computation(slot.get());
  }
  slot->ClearCalledComputations();
  slot->position_in_module_ = -1;
  to_be_deleted_computations_.push_back(std::move(slot));
  --computation_count_;
  return absl::OkStatus();
}

absl::Status HloModule::RemoveEmbeddedComputation(
    std::vector<std::unique_ptr<HloComputation>>::iterator to_remove) {
  if (to_remove == computations_.end() || *to_remove == nullptr) {
    return absl::NotFoundError("no such computation");
  }
  return RemoveComputationAt(to_remove - computations_.begin());
}

absl::Status HloModule::RemoveEmbeddedComputation(HloComputation* to_remove) {
  const int32_t position = to_remove->position_in_module_;
  if (position < 0 || position >= static_cast<int64_t>(computations_.size()) ||
      computations_[position].get() != to_remove) {
    return absl::NotFoundError(absl::StrCat("computation ", to_remove->name(),
                                            " is not in module ", name_));
  }
  return RemoveComputationAt(position);
}

absl::Status HloModule::RemoveUnusedComputations() {
  TF_RET_CHECK(has_entry_computation())
      << "module " << name_ << " has no entry computation";
  absl::flat_hash_set<const HloComputation*> used = {entry_computation_};
  for (const HloComputation* computation :
       entry_computation_->MakeEmbeddedComputationsList()) {
    used.insert(computation);
  }
  for (size_t i = 0; i < computations_.size(); ++i) {
    if (computations_[i] != nullptr && !used.contains(computations_[i].get())) {
      TF_RETURN_IF_ERROR(RemoveComputationAt(i));
    }
  }
  return absl::OkStatus();
}

// --- Replacement -------------------------------------------------------------

void HloModule::MarkFusionDuplications(
    const absl::flat_hash_map<HloComputation*, HloComputation*>& replacements)
    const {
  for (HloComputation* computation : computations()) {
    auto it = replacements.find(computation);
    if (it == replacements.end()) continue;
    HloInstruction* kept_fusion = it->second->FusionInstruction();
    if (kept_fusion == nullptr) continue;
    const std::string name(kept_fusion->name());
    for (HloInstruction* fusion :
         computation->caller_instructions(HloOpcode::kFusion)) {
      fusion->set_metadata_deduplicated_name(name);
      kept_fusion->set_metadata_deduplicated_name(name);
    }
  }
}

void HloModule::ReplaceComputations(
    const absl::flat_hash_map<HloComputation*, HloComputation*>& replacements) {
  auto replaced = [&](HloComputation* computation) {
    auto it = replacements.find(computation);
    return it == replacements.end() ? computation : it->second;
  };
  std::vector<HloComputation*> to_remove;
  for (HloComputation* computation : computations()) {
    if (replaced(computation) != computation) to_remove.push_back(computation);
  }
  for (HloComputation* computation : to_remove) {
    for (HloInstruction* caller : computation->caller_instructions()) {
      caller->ReplaceCalledComputations(replaced);
    }
  }
  if (has_entry_computation())
    entry_computation_ = replaced(entry_computation_);
  for (HloComputation* computation : to_remove) {
    absl::Status status = RemoveEmbeddedComputation(computation);
    CHECK(status.ok()) << status;
  }
}

void HloModule::MoveComputationsFrom(HloModule* module,
                                     bool make_names_unique) {
  HloComputation* moved_entry =
      module->has_entry_computation() ? module->entry_computation_ : nullptr;
  module->Cleanup();
  // All names are registered here before any is made unique.
  NameUniquer& names = instruction_name_uniquer();
  for (std::unique_ptr<HloComputation>& computation : module->computations_) {
    HloComputation* moved = computation.get();
    moved->ClearUniqueIdInternal();
    moved->parent_ = nullptr;
    const bool is_entry = moved == moved_entry;
    if (is_entry) entry_computation_ = nullptr;
    if (make_names_unique) {
      moved->UniquifyName(&computation_name_uniquer_);
      for (HloInstruction* instruction : moved->instructions()) {
        instruction->UniquifyName(&names);
      }
    }
    AddComputationInternal(std::move(computation), is_entry, Naming::kKeep,
                           /*preserve_entry_layouts=*/false);
    if (make_names_unique) moved->names_are_registered_ = true;
  }
  module->computations_.clear();
  module->computation_count_ = 0;
  module->entry_computation_ = nullptr;
  module->clear_schedule();
}

// --- Outlining ---------------------------------------------------------------

HloInstruction* HloModule::OutlineExpressionFromComputation(
    absl::Span<HloInstruction* const> instructions_to_outline,
    const std::string& outlined_computation_name, HloComputation* computation) {
  HloComputation::Builder builder(outlined_computation_name);
  absl::flat_hash_map<HloInstruction*, HloInstruction*> outlined;
  const absl::flat_hash_set<HloInstruction*> to_outline(
      instructions_to_outline.begin(), instructions_to_outline.end());
  std::vector<HloInstruction*> arguments;
  std::vector<HloInstruction*> outputs;
  for (HloInstruction* instruction : instructions_to_outline) {
    CHECK(instruction->opcode() != HloOpcode::kParameter)
        << instruction->name() << " cannot be outlined";
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : instruction->operands()) {
      auto it = outlined.find(operand);
      if (it == outlined.end()) {
        CHECK(!to_outline.contains(operand))
            << instruction->name() << " comes before its operand "
            << operand->name();
        HloInstruction* parameter =
            builder.AddInstruction(HloInstruction::CreateParameter(
                arguments.size(), operand->shape(),
                absl::StrCat("p", arguments.size())));
        arguments.push_back(operand);
        it = outlined.try_emplace(operand, parameter).first;
      }
      operands.push_back(it->second);
    }
    outlined[instruction] = builder.AddInstruction(
        instruction->CloneWithNewOperands(instruction->shape(), operands));
    bool used_outside = instruction->IsRoot();
    for (const HloInstruction* user : instruction->users()) {
      used_outside |= !to_outline.contains(user);
    }
    if (used_outside) outputs.push_back(instruction);
  }
  CHECK_EQ(outputs.size(), 1)
      << "the outlined instructions must have one value that is used outside";
  HloInstruction* output = outputs[0];
  HloComputation* nested =
      AddEmbeddedComputation(builder.Build(outlined.at(output)));
  HloInstruction* call = computation->AddInstruction(
      HloInstruction::CreateCall(output->shape(), arguments, nested));
  absl::Status status = output->ReplaceAllUsesWith(call);
  CHECK(status.ok()) << status;
  if (computation->root_instruction() == output) {
    computation->set_root_instruction(call);
  }
  for (auto it = instructions_to_outline.rbegin();
       it != instructions_to_outline.rend(); ++it) {
    status = computation->RemoveInstruction(*it);
    CHECK(status.ok()) << status;
  }
  return call;
}

}  // namespace xla
