// Custom calls.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;
using google::protobuf::util::MessageDifferencer;

HloCustomCallInstruction::HloCustomCallInstruction(
    const Shape& shape, Operands operands,
    absl::Span<HloComputation* const> called_computations,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version)
    : HloCallableInstruction(HloOpcode::kCustomCall, shape, operands,
                             called_computations),
      custom_call_target_(custom_call_target),
      api_version_(api_version) {
  set_raw_backend_config_string(std::move(opaque));
}

HloCustomCallInstruction::HloCustomCallInstruction(
    const Shape& shape, Operands operands, absl::string_view custom_call_target,
    std::string opaque, CustomCallApiVersion api_version)
    : HloCustomCallInstruction(
          shape, operands, absl::Span<HloComputation* const>(),
          custom_call_target, std::move(opaque), api_version) {}

HloCustomCallInstruction::HloCustomCallInstruction(
    const Shape& shape, Operands operands, absl::string_view custom_call_target,
    std::string opaque, absl::Span<const Shape> operand_shapes_with_layout,
    CustomCallApiVersion api_version)
    : HloCustomCallInstruction(shape, operands, custom_call_target,
                               std::move(opaque), api_version) {
  set_operand_shapes_with_layout(
      {operand_shapes_with_layout.begin(), operand_shapes_with_layout.end()});
}

HloCustomCallInstruction::HloCustomCallInstruction(
    const Shape& shape, Operands operands, HloComputation* to_apply,
    absl::string_view custom_call_target, std::string opaque,
    CustomCallApiVersion api_version)
    : HloCustomCallInstruction(
          shape, operands, absl::MakeConstSpan(&to_apply, 1),
          custom_call_target, std::move(opaque), api_version) {}

HloCustomCallInstruction::HloCustomCallInstruction(
    const Shape& shape, Operands operands, HloComputation* to_apply,
    absl::string_view custom_call_target, std::string opaque,
    absl::Span<const Shape> operand_shapes_with_layout,
    CustomCallApiVersion api_version)
    : HloCustomCallInstruction(shape, operands, to_apply, custom_call_target,
                               std::move(opaque), api_version) {
  set_operand_shapes_with_layout(
      {operand_shapes_with_layout.begin(), operand_shapes_with_layout.end()});
}

const Window& HloCustomCallInstruction::window() const {
  return window_ ? *window_ : Window::default_instance();
}

void HloCustomCallInstruction::set_window(const Window& window) {
  window_ = std::make_unique<Window>(window);
}

const ConvolutionDimensionNumbers&
HloCustomCallInstruction::convolution_dimension_numbers() const {
  return convolution_dimension_numbers_
             ? *convolution_dimension_numbers_
             : ConvolutionDimensionNumbers::default_instance();
}

void HloCustomCallInstruction::set_convolution_dimension_numbers(
    const ConvolutionDimensionNumbers& dnums) {
  convolution_dimension_numbers_ =
      std::make_unique<ConvolutionDimensionNumbers>(dnums);
}

void HloCustomCallInstruction::set_literal(Literal&& literal) {
  literal_ = std::make_shared<const Literal>(std::move(literal));
}

void HloCustomCallInstruction::set_operand_shapes_with_layout(
    std::vector<Shape> operand_shapes_with_layout) {
  layout_constrained_ = true;
  operand_shapes_with_layout_ = std::move(operand_shapes_with_layout);
}

void HloCustomCallInstruction::SetPerInstructionStorage(
    std::unique_ptr<PerInstructionStorage> per_instruction_storage) {
  // Who was first may hold a pointer to it.
  if (per_instruction_storage_ != nullptr) return;
  per_instruction_storage_ = std::move(per_instruction_storage);
}

bool HloCustomCallInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                 EqComputations eq) const {
  const auto& that = static_cast<const HloCustomCallInstruction&>(other);
  if (custom_call_target_ != that.custom_call_target_ ||
      feature_group_count_ != that.feature_group_count_ ||
      batch_group_count_ != that.batch_group_count_ ||
      padding_type_ != that.padding_type_ ||
      custom_call_schedule_ != that.custom_call_schedule_ ||
      api_version_ != that.api_version_ ||
      custom_call_has_side_effect_ != that.custom_call_has_side_effect_ ||
      layout_constrained_ != that.layout_constrained_ ||
      output_to_operand_aliasing() != that.output_to_operand_aliasing()) {
    return false;
  }
  if (operand_shapes_with_layout_ != that.operand_shapes_with_layout_) {
    return false;
  }
  if (HasLiteral() != that.HasLiteral() ||
      (literal_ != that.literal_ && !(literal() == that.literal()))) {
    return false;
  }
  return has_window() == that.has_window() &&
         has_convolution_dimension_numbers() ==
             that.has_convolution_dimension_numbers() &&
         MessageDifferencer::Equals(window(), that.window()) &&
         MessageDifferencer::Equals(convolution_dimension_numbers(),
                                    that.convolution_dimension_numbers()) &&
         MessageDifferencer::Equals(precision_config_,
                                    that.precision_config_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloCustomCallInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  auto clone = std::make_unique<HloCustomCallInstruction>(
      shape, new_operands,
      absl::MakeConstSpan(called_computations().data(),
                          called_computations().size()),
      custom_call_target_, opaque(), api_version_);
  if (layout_constrained_) {
    clone->set_operand_shapes_with_layout(operand_shapes_with_layout_);
  }
  if (has_window()) clone->set_window(window());
  if (has_convolution_dimension_numbers()) {
    clone->set_convolution_dimension_numbers(convolution_dimension_numbers());
  }
  clone->literal_ = literal_;
  clone->feature_group_count_ = feature_group_count_;
  clone->batch_group_count_ = batch_group_count_;
  clone->precision_config_ = precision_config_;
  clone->padding_type_ = padding_type_;
  clone->custom_call_schedule_ = custom_call_schedule_;
  clone->custom_call_has_side_effect_ = custom_call_has_side_effect_;
  clone->set_output_to_operand_aliasing(output_to_operand_aliasing());
  return clone;
}

}  // namespace xla
