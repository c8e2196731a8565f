#include "xla/hlo/ir/hlo_computation.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// --- Builders ----------------------------------------------------------------

std::unique_ptr<HloComputation> HloComputationBuilder::Build(
    HloInstruction* root_instruction) {
  CHECK(!instructions_.empty()) << "computation " << name_ << " is empty";
  if (root_instruction == nullptr) root_instruction = last_added_instruction();
  auto computation = absl::WrapUnique(
      new HloComputation(name_, static_cast<int>(parameter_count_),
                         &instructions_, root_instruction));
  instructions_.clear();
  parameter_count_ = 0;
  return computation;
}

HloInstruction* HloComputationBuilder::AddInstruction(
    std::unique_ptr<HloInstruction> instruction) {
  CHECK(instruction != nullptr);
  if (instruction->opcode() == HloOpcode::kParameter) ++parameter_count_;
  instructions_.push_back(std::move(instruction));
  return instructions_.back().get();
}

HloInstruction* HloComputationBuilder::AddInstruction(
    std::unique_ptr<HloInstruction> instruction,
    std::optional<absl::string_view> new_name) {
  if (new_name.has_value()) instruction->SetAndSanitizeName(*new_name);
  return AddInstruction(std::move(instruction));
}

absl::StatusOr<HloInstruction*> HloComputationBuilder::AddParameter(
    std::unique_ptr<HloInstruction> parameter) {
  if (parameter->opcode() != HloOpcode::kParameter ||
      parameter->parameter_number() != parameter_count_) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", parameter_count_, " of computation ", name_,
                     " cannot be ", parameter->name()));
  }
  return AddInstruction(std::move(parameter));
}

absl::Status HloComputationBuilder::ForEachInstruction(
    absl::FunctionRef<absl::Status(const HloInstruction*)> func) const {
  for (const auto& instruction : instructions_) {
    absl::Status status = func(instruction.get());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

HloComputationMetadataBuilder::HloComputationMetadataBuilder(
    HloComputation* computation, const OpMetadata& metadata)
    : computation_(computation),
      metadata_(std::make_shared<const OpMetadata>(metadata)) {}

HloInstruction* HloComputationMetadataBuilder::AddInstruction(
    std::unique_ptr<HloInstruction> instruction) {
  instruction->set_metadata_ptr(metadata_);
  return computation_->AddInstruction(std::move(instruction));
}

const std::vector<HloInstruction*>&
HloComputationCachingPostOrder::PostOrder() {
  if (recompute_) {
    cached_post_order_ = computation_->MakeInstructionPostOrder();
    recompute_ = false;
  }
  return cached_post_order_;
}

// --- Construction and destruction --------------------------------------------

HloComputation::HloComputation(
    const std::string& name, int parameter_count,
    std::vector<std::unique_ptr<HloInstruction>>* instructions,
    HloInstruction* root_instruction)
    : name_(NameUniquer::GetSanitizedName(name)) {
  param_instructions_.resize(parameter_count, nullptr);
  instructions_.reserve(instructions->size());
  for (std::unique_ptr<HloInstruction>& owned : *instructions) {
    HloInstruction* instruction = owned.release();
    if (instruction->opcode() == HloOpcode::kParameter) {
      const int64_t number = instruction->parameter_number();
      CHECK(number >= 0 && number < parameter_count)
          << instruction->name() << " is parameter " << number << " of "
          << parameter_count << " in " << name_;
      CHECK(param_instructions_[number] == nullptr)
          << "parameter " << number << " of " << name_ << " is there twice";
      param_instructions_[number] = instruction;
    }
    AppendInstruction(instruction);
  }
  set_root_instruction(root_instruction);
}

HloComputation::~HloComputation() {
  // Callees forget their callers here first: deleting instructions one by one
  // must not look at anything that may be gone.
  for (HloInstruction* instruction : instructions()) {
    for (HloComputation* callee : instruction->called_computations()) {
      if (callee != this && callees_.contains(callee)) {
        callee->callers_.erase(instruction);
      }
    }
  }
  // Callers that are still there keep a dangling reference, which their owner
  // replaces or never follows, but the counts must not.
  for (const auto& [caller, count] : callers_) {
    if (caller->parent_ != nullptr && caller->parent_ != this) {
      caller->parent_->callees_.erase(this);
    }
  }
  // Users that a builder still holds outlive their operands.
  for (const HloInstruction* instruction : instructions()) {
    for (HloInstruction* user : instruction->users()) {
      if (user->parent_ == this) continue;
      for (HloInstruction*& operand : user->operands_) {
        if (operand == instruction) operand = nullptr;
      }
    }
  }
  for (const HloInstructionInfo& info : instructions_) {
    if (info.get() == nullptr) continue;
    info.get()->parent_ = nullptr;
    async_segments::OperandsChange(*info.get());
    // All ends of all edges go at once, so none is cut.
    info.get()->cleaned_up_ = true;
  }
  for (const HloInstructionInfo& info : instructions_) delete info.get();
  for (HloInstruction* instruction : to_be_deleted_) delete instruction;
}

// --- Adding ------------------------------------------------------------------

HloInstruction* HloComputation::AppendInstruction(HloInstruction* instruction) {
  CHECK(instruction->parent_ == nullptr)
      << instruction->name() << " is in a computation already";
  const int32_t id = static_cast<int32_t>(instructions_.size());
  instruction->set_parent(this);
  instruction->SetLocalId(id);
  instructions_.emplace_back(instruction);
  ++instruction_count_;
  for (HloComputation* callee : instruction->called_computations()) {
    AddCallee(instruction, callee);
  }
  return instruction;
}

HloInstruction* HloComputation::AddInstructionInternal(
    std::unique_ptr<HloInstruction> instruction) {
  if (parent_ != nullptr) instruction->UniquifyName(parent_);
  return AppendInstruction(instruction.release());
}

HloInstruction* HloComputation::AddInstruction(
    std::unique_ptr<HloInstruction> instruction, absl::string_view new_name) {
  CHECK(instruction->opcode() != HloOpcode::kParameter)
      << "parameters are added by AddParameter";
  if (!new_name.empty()) instruction->SetAndSanitizeName(new_name);
  return AddInstructionInternal(std::move(instruction));
}

HloInstruction* HloComputation::AddInstruction(
    std::unique_ptr<HloInstruction> instruction, const OpMetadata* metadata) {
  if (metadata != nullptr) instruction->set_metadata(*metadata);
  return AddInstruction(std::move(instruction));
}

HloInstruction* HloComputation::AddInstruction(
    std::unique_ptr<HloInstruction> instruction, const OpMetadata* metadata,
    const FrontendAttributes* frontend_attributes) {
  if (metadata != nullptr) instruction->set_metadata(*metadata);
  if (frontend_attributes != nullptr) {
    instruction->set_frontend_attributes(*frontend_attributes);
  }
  return AddInstruction(std::move(instruction));
}

// --- Root, names, ids
// ----------------------------------------------------------

void HloComputation::set_root_instruction(HloInstruction* new_root_instruction,
                                          bool accept_different_shape) {
  CHECK(new_root_instruction->parent_ == this)
      << new_root_instruction->name() << " is not in " << name_;
  if (root_instruction_ != nullptr) {
    if (!accept_different_shape) {
      CHECK(ShapeUtil::Compatible(new_root_instruction->shape(),
                                  root_instruction_->shape()))
          << new_root_instruction->shape().ToString() << " is not compatible "
          << "with " << root_instruction_->shape().ToString();
    }
    root_instruction_->MarkAsNonRoot();
  }
  new_root_instruction->MarkAsRoot();
  root_instruction_ = new_root_instruction;
}

void HloComputation::SetAndSanitizeName(absl::string_view name) {
  name_ = NameUniquer::GetSanitizedName(name);
}

void HloComputation::UniquifyName(NameUniquer* name_uniquer) {
  name_ = name_uniquer->GetUniqueName(name_);
}

void HloComputation::UniquifyName(HloModule* module) {
  UniquifyName(&module->computation_name_uniquer());
}

void HloComputation::SetUniqueId(int64_t id) {
  CHECK_GE(id, 0);
  unique_id_ = id;
}

HloInstruction* HloComputation::GetInstructionWithName(absl::string_view name) {
  for (HloInstruction* instruction : instructions()) {
    if (instruction->name() == name) return instruction;
  }
  return nullptr;
}

HloInstruction* HloComputation::GetInstructionWithLocalId(int32_t local_id) {
  if (local_id < 0 || local_id >= next_unique_instruction_internal_id()) {
    return nullptr;
  }
  return instructions_[local_id].get();
}

ProgramShape HloComputation::ComputeProgramShape(bool include_ids) const {
  ProgramShape program_shape;
  for (const HloInstruction* parameter : param_instructions_) {
    program_shape.AddParameter(
        parameter->shape(),
        std::string(PrintName(parameter->name(), include_ids)));
  }
  *program_shape.mutable_result() = root_instruction_->shape();
  return program_shape;
}

// --- Facts -------------------------------------------------------------------

bool HloComputation::HasSideEffect() const {
  // Callees are gone through here rather than by recursion: call chains may be
  // long.
  absl::flat_hash_set<const HloComputation*> seen = {this};
  std::vector<const HloComputation*> worklist = {this};
  while (!worklist.empty()) {
    const HloComputation* computation = worklist.back();
    worklist.pop_back();
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->HasSideEffectNoRecurse()) return true;
    }
    for (const auto& [callee, count] : computation->callees_) {
      if (seen.insert(callee).second) worklist.push_back(callee);
    }
  }
  return false;
}

bool HloComputation::IsEntryComputation() const {
  return parent_ != nullptr && parent_->has_entry_computation() &&
         parent_->entry_computation() == this;
}

bool HloComputation::OnlyContainsSendRecv() {
  for (const HloInstruction* instruction : instructions()) {
    if (HloPredicateIsNotOp<HloOpcode::kSend, HloOpcode::kSendDone,
                            HloOpcode::kRecv, HloOpcode::kRecvDone,
                            HloOpcode::kParameter, HloOpcode::kTuple,
                            HloOpcode::kGetTupleElement, HloOpcode::kBitcast,
                            HloOpcode::kAfterAll>(instruction)) {
      return false;
    }
  }
  return true;
}

bool HloComputation::CanExpandIntoSingleInstruction() const {
  if (instruction_count_ != num_parameters() + 1) return false;
  if (root_instruction_->operand_count() != num_parameters()) return false;
  for (int64_t i = 0; i < num_parameters(); ++i) {
    if (root_instruction_->operand(i) != param_instructions_[i]) return false;
  }
  return root_instruction_->opcode() != HloOpcode::kParameter;
}

}  // namespace xla
