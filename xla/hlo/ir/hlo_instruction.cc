#include "xla/hlo/ir/hlo_instruction.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/shape.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/side_effect_util.h"

namespace xla {

HloInstruction::HloInstruction(HloOpcode opcode, const Shape& shape)
    : opcode_(opcode),
      is_root_(false),
      is_default_config_(false),
      cleaned_up_(false),
      marked_as_dead_(false),
      shape_(shape),
      name_(HloOpcodeString(opcode)) {}

HloInstruction::~HloInstruction() { DetachFromOperandsAndUsers(); }

void HloInstruction::AllocateRare() { rare_ = std::make_unique<Rare>(); }

const HloInstruction::Rare& HloInstruction::EmptyRare() {
  static const Rare& empty = *new Rare();
  return empty;
}

void HloInstruction::DetachFromOperandsAndUsers() {
  if (cleaned_up_) return;
  cleaned_up_ = true;
  // The places of the operands stay, so that there is something to print.
  for (HloInstruction*& operand : operands_) {
    if (operand != nullptr) operand->users_.MaybeRemoveUser(this);
    operand = nullptr;
  }
  for (HloInstruction* user : users_.vec()) {
    for (HloInstruction*& operand : user->operands_) {
      if (operand == this) operand = nullptr;
    }
  }
  users_.Clear();
  if (!has_rare()) return;
  // Nothing but a lost end of an edge could make this fail.
  absl::Status status = DropAllControlDeps();
  CHECK(status.ok()) << status;
}

HloInstruction* HloInstruction::AddInstruction(
    std::unique_ptr<HloInstruction> derived_instruction,
    absl::string_view new_name) {
  CHECK(parent_ != nullptr) << name_ << " is in no computation";
  SetupDerivedInstruction(derived_instruction.get());
  return parent_->AddInstruction(std::move(derived_instruction), new_name);
}

namespace {

// The sharding of an outfeed is not of its token, but of what it feeds.
bool FeedTheSame(const HloInstruction& a, const HloInstruction& b) {
  return a.opcode() == HloOpcode::kOutfeed &&
         b.opcode() == HloOpcode::kOutfeed && a.operand(0) != nullptr &&
         b.operand(0) != nullptr &&
         ShapeUtil::Compatible(a.operand(0)->shape(), b.operand(0)->shape());
}

// Whether every leaf of a tiled sharding has as many dimensions as the part of
// the shape that it is for.
bool LeafRanksFit(const HloSharding& sharding, const Shape& shape) {
  const auto fits = [](const HloSharding& leaf, const Shape& subshape) {
    return !leaf.IsTiledLeaf() || !subshape.IsArray() ||
           leaf.TiledDataRank() == subshape.dimensions_size();
  };
  if (!sharding.IsTuple()) {
    bool fit = true;
    ShapeUtil::ForEachLeafShape(shape,
                                [&](const Shape& subshape, const ShapeIndex&) {
                                  fit &= fits(sharding, subshape);
                                });
    return fit;
  }
  absl::StatusOr<ShapeTree<HloSharding>> tree = sharding.AsShapeTree(shape);
  if (!tree.ok()) return false;
  for (const auto& [index, leaf] : tree->leaves()) {
    if (!fits(leaf, ShapeUtil::GetSubshape(shape, index))) return false;
  }
  return true;
}

}  // namespace

void HloInstruction::SetupDerivedInstruction(
    HloInstruction* derived_instruction) const {
  if (ShapeUtil::CompatibleKind(shape_, derived_instruction->shape()) &&
      (!has_sharding() || FeedTheSame(*this, *derived_instruction) ||
       LeafRanksFit(sharding(), derived_instruction->shape()))) {
    if (has_sharding()) derived_instruction->copy_sharding(this);
  } else {
    derived_instruction->clear_sharding();
  }
  derived_instruction->metadata_ = metadata_;
  if (has_frontend_attributes()) {
    FrontendAttributes attributes = frontend_attributes();
    // Where an instruction runs is said of that instruction alone.
    attributes.mutable_map()->erase(kXlaComputeTypeAttr);
    derived_instruction->set_frontend_attributes(std::move(attributes));
  }
  if (IsUnaryOpWithResultAccuracy(derived_instruction->opcode()) &&
      (has_result_accuracy() || derived_instruction->has_result_accuracy())) {
    derived_instruction->set_result_accuracy(result_accuracy());
  }
  if (opcode_ == derived_instruction->opcode() && has_backend_config()) {
    derived_instruction->set_backend_config_wrapper(rare_->backend_config);
  }
  if (has_statistics()) {
    derived_instruction->set_statistics_viz(statistics_viz());
  }
}

bool HloInstruction::IsThreadIncluded(
    absl::string_view execution_thread,
    const absl::flat_hash_set<absl::string_view>& execution_threads_set) {
  return execution_threads_set.empty() ||
         execution_threads_set.contains(execution_thread);
}

// --- Operands
// -----------------------------------------------------------------

HloInstruction::InstructionVector HloInstruction::unique_operands() const {
  InstructionVector unique;
  if (operands_.size() <= 16) {
    for (HloInstruction* operand : operands_) {
      if (!absl::c_linear_search(unique, operand)) unique.push_back(operand);
    }
    return unique;
  }
  absl::flat_hash_set<const HloInstruction*> seen;
  for (HloInstruction* operand : operands_) {
    if (seen.insert(operand).second) unique.push_back(operand);
  }
  return unique;
}

int64_t HloInstruction::operand_index(const HloInstruction* target) const {
  auto it = absl::c_find(operands_, target);
  CHECK(it != operands_.end())
      << target->name() << " is not an operand of " << name_;
  return it - operands_.begin();
}

std::vector<int64_t> HloInstruction::operand_indices(
    const HloInstruction* target) const {
  auto indices = OperandIndices(target);
  CHECK(!indices.empty()) << target->name() << " is not an operand of "
                          << name_;
  return std::vector<int64_t>(indices.begin(), indices.end());
}

absl::InlinedVector<int64_t, 4> HloInstruction::OperandIndices(
    const HloInstruction* operand) const {
  absl::InlinedVector<int64_t, 4> indices;
  for (int64_t i = 0; i < operand_count(); ++i) {
    if (operands_[i] == operand) indices.push_back(i);
  }
  return indices;
}

void HloInstruction::AppendOperand(HloInstruction* operand) {
  CHECK(operand != nullptr);
  DCHECK(!operand->IsMarkedAsDead())
      << operand->name() << " is removed, yet becomes operand of " << name_;
  operands_.push_back(operand);
  operand->AddUser(this);
}

void HloInstruction::AppendOperands(
    absl::Span<HloInstruction* const> operands) {
  operands_.reserve(operands_.size() + operands.size());
  for (HloInstruction* operand : operands) AppendOperand(operand);
}

void HloInstruction::DetachFromOperands() {
  for (HloInstruction* operand : operands_) {
    if (operand != nullptr) operand->users_.MaybeRemoveUser(this);
  }
  operands_.clear();
}

void HloInstruction::RemoveAllOperands() { DetachFromOperands(); }

void HloInstruction::RemoveOperandsAtAscendingIndices(
    absl::Span<const int> ascending_indices) {
  if (ascending_indices.empty()) return;
  absl::InlinedVector<HloInstruction*, 4> removed;
  size_t next = 0;
  size_t kept = 0;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (next < ascending_indices.size() &&
        ascending_indices[next] == static_cast<int>(i)) {
      removed.push_back(operands_[i]);
      ++next;
    } else {
      operands_[kept++] = operands_[i];
    }
  }
  CHECK_EQ(next, ascending_indices.size());
  async_segments::OperandsChange(*this);
  operands_.resize(kept);
  const absl::flat_hash_set<HloInstruction*> left(operands_.begin(),
                                                  operands_.end());
  for (HloInstruction* operand : removed) {
    if (operand != nullptr && !left.contains(operand)) {
      operand->users_.MaybeRemoveUser(this);
    }
  }
}

bool HloInstruction::HasConstantOperand() const {
  return absl::c_any_of(operands_, [](const HloInstruction* operand) {
    return operand->IsConstant();
  });
}

// --- Called computations
// ------------------------------------------------------

void HloInstruction::AppendComputation(HloComputation* computation) {
  CHECK(computation != nullptr);
  mutable_rare()->called_computations.push_back(computation);
  if (parent_ != nullptr) parent_->AddCallee(this, computation);
}

void HloInstruction::set_called_computation(int index,
                                            HloComputation* computation) {
  PtrVec<HloComputation*>& called = mutable_rare()->called_computations;
  CHECK_LT(index, called.size());
  HloComputation* old_computation = called[index];
  if (old_computation == computation) return;
  called[index] = computation;
  if (parent_ != nullptr) {
    if (old_computation != nullptr) {
      parent_->RemoveCallee(this, old_computation);
    }
    parent_->AddCallee(this, computation);
  }
}

void HloInstruction::ReplaceCalledComputations(
    absl::FunctionRef<HloComputation*(HloComputation*)> map_function) {
  for (int i = 0; i < static_cast<int>(called_computations().size()); ++i) {
    set_called_computation(i, map_function(called_computations()[i]));
  }
}

void HloInstruction::ClearCalledComputations() {
  if (!has_called_computations()) return;
  PtrVec<HloComputation*>& called = mutable_rare()->called_computations;
  if (parent_ != nullptr) {
    for (HloComputation* computation : called) {
      parent_->RemoveCallee(this, computation);
    }
  }
  called.clear();
}

// --- Names and ids
// ------------------------------------------------------------

void HloInstruction::SetAndSanitizeName(absl::string_view name) {
  if (NameUniquer::IsSanitizedName(name)) {
    name_.assign(name.data(), name.size());
  } else {
    name_ = NameUniquer::GetSanitizedName(name);
  }
}

void HloInstruction::UniquifyName(NameUniquer* name_uniquer) {
  name_ = name_uniquer->GetUniqueName(name_);
}

void HloInstruction::UniquifyName(HloModule* module) {
  UniquifyName(&module->instruction_name_uniquer());
}

int64_t HloInstruction::CalculateUniqueId(int32_t computation_unique_id,
                                          int32_t instruction_local_id) {
  return (static_cast<int64_t>(std::max(computation_unique_id, 0)) << 32) |
         static_cast<uint32_t>(instruction_local_id);
}

int32_t HloInstruction::CalculateLocalId(int64_t unique_id) {
  return static_cast<int32_t>(unique_id & 0xFFFFFFFF);
}

int32_t HloInstruction::CalculateParentId(int64_t unique_id) {
  return static_cast<int32_t>(unique_id >> 32);
}

int64_t HloInstruction::unique_id() const {
  if (local_id_ < 0) return -1;
  return CalculateUniqueId(
      parent_ == nullptr ? 0 : static_cast<int32_t>(parent_->unique_id()),
      local_id_);
}

HloModule* HloInstruction::GetModule() const {
  return parent_ == nullptr ? nullptr : parent_->parent();
}

bool HloPtrComparator::operator()(const HloInstruction* const& lhs,
                                  const HloInstruction* const& rhs) const {
  if (lhs == nullptr || rhs == nullptr) return rhs != nullptr && lhs == nullptr;
  const HloModule* lhs_module = lhs->GetModule();
  const HloModule* rhs_module = rhs->GetModule();
  const int lhs_id = lhs_module == nullptr ? -1 : lhs_module->unique_id();
  const int rhs_id = rhs_module == nullptr ? -1 : rhs_module->unique_id();
  if (lhs_id != rhs_id) return lhs_id < rhs_id;
  return lhs->unique_id() < rhs->unique_id();
}

bool HloPtrComparatorInternal::operator()(
    const HloInstruction* const& lhs, const HloInstruction* const& rhs) const {
  if (lhs == nullptr || rhs == nullptr) return rhs != nullptr && lhs == nullptr;
  return lhs->unique_id() < rhs->unique_id();
}

}  // namespace xla
