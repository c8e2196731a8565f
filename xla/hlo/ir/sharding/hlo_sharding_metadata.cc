#include "xla/hlo/ir/hlo_sharding_metadata.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape_tree.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

std::unique_ptr<DomainMetadata> ShardingMetadata::Clone() const {
  return std::make_unique<ShardingMetadata>(
      sharding_ == nullptr ? nullptr
                           : std::make_shared<const HloSharding>(*sharding_));
}

bool ShardingMetadata::Matches(const DomainMetadata& other) const {
  absl::StatusOr<const ShardingMetadata*> metadata = ToShardingMetadata(&other);
  if (!metadata.ok()) return false;
  const HloSharding* its_sharding = (*metadata)->sharding();
  if (sharding_ == nullptr || its_sharding == nullptr) {
    return sharding_ == nullptr && its_sharding == nullptr;
  }
  return *sharding_ == *its_sharding;
}

size_t ShardingMetadata::Hash() const { return absl::HashOf(*this); }

std::string ShardingMetadata::ToString() const {
  return sharding_ == nullptr ? "{}" : sharding_->ToString();
}

absl::StatusOr<const ShardingMetadata*> ShardingMetadata::ToShardingMetadata(
    const DomainMetadata* metadata) {
  if (metadata->Kind() != KindName()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata of kind ", metadata->Kind(), " is not a sharding"));
  }
  return static_cast<const ShardingMetadata*>(metadata);
}

namespace {

// The sharding of one side of a kDomain; null if it has none.
std::shared_ptr<const HloSharding> SideSharding(const DomainMetadata& side) {
  absl::StatusOr<const ShardingMetadata*> metadata =
      ShardingMetadata::ToShardingMetadata(&side);
  if (!metadata.ok() || (*metadata)->sharding() == nullptr) return nullptr;
  return std::make_shared<const HloSharding>(*(*metadata)->sharding());
}

// The sharding of the operand's value inside the domain.
std::shared_ptr<const HloSharding> OperandSharding(
    const HloInstruction& operand) {
  return operand.opcode() == HloOpcode::kDomain
             ? SideSharding(operand.user_side_metadata())
             : operand.sharding_ptr();
}

// The sharding an instruction without one has by its operands: a
// get-tuple-element takes its element's, a tuple is put together, anything else
// follows its operands if they all have the same. Null if nothing follows.
std::shared_ptr<const HloSharding> ShardingFromOperands(
    const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kGetTupleElement) {
    std::shared_ptr<const HloSharding> tuple =
        OperandSharding(*instruction.operand(0));
    if (tuple == nullptr || !tuple->IsTuple()) return tuple;
    return std::make_shared<const HloSharding>(tuple->GetSubSharding(
        instruction.operand(0)->shape(), {instruction.tuple_index()}));
  }
  if (instruction.opcode() == HloOpcode::kTuple) {
    std::vector<HloSharding> leaves;
    for (const HloInstruction* operand : instruction.operands()) {
      std::shared_ptr<const HloSharding> sharding = OperandSharding(*operand);
      if (sharding == nullptr) return nullptr;
      const HloSharding whole =
          sharding->NormalizeTupleSharding(operand->shape());
      if (whole.IsTuple()) {
        leaves.insert(leaves.end(), whole.tuple_elements().begin(),
                      whole.tuple_elements().end());
      } else {
        leaves.push_back(whole);
      }
    }
    if (leaves.empty()) return nullptr;
    return std::make_shared<const HloSharding>(
        HloSharding::FlatTuple(std::move(leaves)));
  }
  std::shared_ptr<const HloSharding> common;
  for (const HloInstruction* operand : instruction.operands()) {
    std::shared_ptr<const HloSharding> sharding = OperandSharding(*operand);
    if (sharding == nullptr || sharding->IsTuple()) continue;
    if (common != nullptr && !(*common == *sharding)) return nullptr;
    common = std::move(sharding);
  }
  return instruction.shape().IsTuple() ? nullptr : common;
}

}  // namespace

absl::Status ShardingMetadata::NormalizeShardingDomain(
    const DomainMetadata::Domain& domain, const DomainMetadata* metadata) {
  if (metadata != nullptr) {
    TF_ASSIGN_OR_RETURN(const ShardingMetadata* sharding_metadata,
                        ToShardingMetadata(metadata));
    const HloSharding* sharding = sharding_metadata->sharding();
    if (sharding == nullptr) return absl::OkStatus();
    for (HloInstruction* instruction : domain.instructions) {
      if (instruction->has_sharding()) continue;
      if (instruction->shape().IsTuple() && !sharding->IsTuple()) {
        instruction->set_single_sharding(*sharding);
      } else if (instruction->shape().IsTuple() == sharding->IsTuple()) {
        instruction->set_sharding(*sharding);
      }
    }
    return absl::OkStatus();
  }
  // Operands stand before users, so that one pass is enough.
  for (HloInstruction* instruction : domain.instructions) {
    if (instruction->has_sharding()) continue;
    std::shared_ptr<const HloSharding> sharding =
        ShardingFromOperands(*instruction);
    if (sharding != nullptr) instruction->set_sharding(std::move(sharding));
  }
  return absl::OkStatus();
}

bool ShardingDomainCreator::DomainCseMapKey::operator==(
    const DomainCseMapKey& other) const {
  if (instruction != other.instruction) return false;
  if (sharding == nullptr || other.sharding == nullptr) {
    return sharding == nullptr && other.sharding == nullptr;
  }
  return *sharding == *other.sharding;
}

HloInstruction* ShardingDomainCreator::operator()(HloInstruction* instruction,
                                                  HloInstruction* root,
                                                  HloInstruction* operand) {
  const std::shared_ptr<const HloSharding> user_side =
      instruction->sharding_ptr();
  const std::shared_ptr<const HloSharding> operand_side = root->sharding_ptr();
  if (user_side == nullptr && operand_side == nullptr) return nullptr;
  if (user_side != nullptr && operand_side != nullptr &&
      *user_side == *operand_side) {
    return nullptr;
  }
  // Tuple elements are told apart by get-tuple-element, which needs no domain
  // from the tuple that has the same sharding for that element.
  if (instruction->opcode() == HloOpcode::kGetTupleElement &&
      operand_side != nullptr && operand_side->IsTuple() &&
      user_side != nullptr &&
      operand_side->GetSubSharding(
          operand->shape(), {instruction->tuple_index()}) == *user_side) {
    return nullptr;
  }
  auto [it, inserted] =
      domain_cse_map_.try_emplace(DomainCseMapKey{operand, user_side}, nullptr);
  if (!inserted) return it->second;
  it->second = operand->parent()->AddInstruction(HloInstruction::CreateDomain(
      operand->shape(), operand,
      std::make_unique<ShardingMetadata>(operand_side),
      std::make_unique<ShardingMetadata>(user_side)));
  return it->second;
}

}  // namespace xla
