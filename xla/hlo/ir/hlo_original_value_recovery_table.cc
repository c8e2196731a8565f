#include "xla/hlo/ir/hlo_original_value_recovery_table.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

constexpr absl::string_view kPlaceholderPrefix = "__ovp";

}  // namespace

OriginalValueRecoveryTable::OriginalValueRecoveryTable() = default;
OriginalValueRecoveryTable::~OriginalValueRecoveryTable() = default;
OriginalValueRecoveryTable::OriginalValueRecoveryTable(
    OriginalValueRecoveryTable&&) = default;
OriginalValueRecoveryTable& OriginalValueRecoveryTable::operator=(
    OriginalValueRecoveryTable&&) = default;

void OriginalValueRecoveryTable::emplace(
    const OriginalArray& old_original_array,
    std::pair<OriginalArray, std::unique_ptr<HloModule>>&&
        recovery_computation) {
  // Placeholders that come from elsewhere must not be handed out again.
  absl::string_view digits = recovery_computation.first.instruction_name;
  int number;
  if (absl::ConsumePrefix(&digits, kPlaceholderPrefix) &&
      absl::SimpleAtoi(digits, &number) && number >= next_placeholder_) {
    next_placeholder_ = number + 1;
  }
  table_.try_emplace(old_original_array, std::move(recovery_computation));
}

void OriginalValueRecoveryTable::AddRecoveryComputation(
    const HloInstruction* old_inst, HloInstruction* new_inst,
    std::function<std::optional<std::unique_ptr<HloModule>>(
        const ShapeIndex& index, const OriginalArray& old_original_array,
        const Shape& old_shape, const Shape& new_shape)>&&
        build_recovery_computation) {
  const std::shared_ptr<OriginalValue> old_value = old_inst->original_value();
  if (old_value == nullptr || old_value->is_synthetic_call()) return;
  std::shared_ptr<OriginalValue> new_value = new_inst->original_value();
  if (new_value == nullptr) {
    new_value = std::make_shared<OriginalValue>(new_inst->shape());
  } else {
    // Other instructions may share the object.
    new_value = std::make_shared<OriginalValue>(*new_value);
  }
  bool changed = false;
  for (const auto& [index, old_array] : old_value->original_arrays()) {
    if (!old_array.has_value() ||
        !ShapeUtil::IndexIsValid(new_inst->shape(), index)) {
      continue;
    }
    std::optional<OriginalArray>* new_array =
        new_value->mutable_original_array(index);
    if (new_array == nullptr) continue;
    std::unique_ptr<HloModule> recovery;
    if (build_recovery_computation != nullptr) {
      std::optional<std::unique_ptr<HloModule>> built =
          build_recovery_computation(
              index, *old_array,
              ShapeUtil::GetSubshape(old_inst->shape(), index),
              ShapeUtil::GetSubshape(new_inst->shape(), index));
      if (!built.has_value()) continue;
      recovery = *std::move(built);
    }
    if (!new_array->has_value()) {
      *new_array = OriginalArray{
          absl::StrCat(kPlaceholderPrefix, next_placeholder_++), ShapeIndex()};
      changed = true;
    }
    emplace(*old_array, {**new_array, std::move(recovery)});
  }
  if (changed) new_inst->set_original_value(std::move(new_value));
}

void OriginalValueRecoveryTable::BuildAndAddRecoveryComputation(
    const HloInstruction* old_inst, HloInstruction* new_inst,
    std::function<std::optional<HloInstruction*>(
        HloComputation::Builder& builder, const ShapeIndex& index,
        const OriginalArray& old_original_array, const Shape& old_shape,
        const Shape& new_shape)>&& build_recovery_computation) {
  auto build =
      [&](const ShapeIndex& index, const OriginalArray& old_original_array,
          const Shape& old_shape,
          const Shape& new_shape) -> std::optional<std::unique_ptr<HloModule>> {
    HloComputation::Builder builder("recovery_computation");
    std::optional<HloInstruction*> root = build_recovery_computation(
        builder, index, old_original_array, old_shape, new_shape);
    if (!root.has_value()) return std::nullopt;
    if (*root == nullptr) return std::unique_ptr<HloModule>();
    auto module =
        std::make_unique<HloModule>("recovery_module", HloModuleConfig());
    module->AddEntryComputation(builder.Build(*root));
    return module;
  };
  AddRecoveryComputation(old_inst, new_inst, std::move(build));
}

OriginalValueRecoveryTable::iterator OriginalValueRecoveryTable::begin() {
  return table_.begin();
}
OriginalValueRecoveryTable::iterator OriginalValueRecoveryTable::end() {
  return table_.end();
}
OriginalValueRecoveryTable::const_iterator OriginalValueRecoveryTable::begin()
    const {
  return table_.begin();
}
OriginalValueRecoveryTable::const_iterator OriginalValueRecoveryTable::end()
    const {
  return table_.end();
}

}  // namespace xla
