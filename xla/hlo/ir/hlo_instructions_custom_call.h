#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_CUSTOM_CALL_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_CUSTOM_CALL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions_callable.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/literal.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Custom calls. Include hlo_instructions.h for all.

namespace xla {

// A call of code outside HLO. `opaque` is the raw backend config.
class HloCustomCallInstruction : public HloCallableInstruction {
 public:
  HloCustomCallInstruction(const Shape& shape,
                           absl::Span<HloInstruction* const> operands,
                           absl::string_view custom_call_target,
                           std::string opaque,
                           CustomCallApiVersion api_version);
  HloCustomCallInstruction(const Shape& shape,
                           absl::Span<HloInstruction* const> operands,
                           absl::string_view custom_call_target,
                           std::string opaque,
                           absl::Span<const Shape> operand_shapes_with_layout,
                           CustomCallApiVersion api_version);
  HloCustomCallInstruction(const Shape& shape,
                           absl::Span<HloInstruction* const> operands,
                           HloComputation* to_apply,
                           absl::string_view custom_call_target,
                           std::string opaque,
                           CustomCallApiVersion api_version);
  HloCustomCallInstruction(const Shape& shape,
                           absl::Span<HloInstruction* const> operands,
                           HloComputation* to_apply,
                           absl::string_view custom_call_target,
                           std::string opaque,
                           absl::Span<const Shape> operand_shapes_with_layout,
                           CustomCallApiVersion api_version);
  HloCustomCallInstruction(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      absl::Span<HloComputation* const> called_computations,
      absl::string_view custom_call_target, std::string opaque,
      CustomCallApiVersion api_version);

  const Window& window() const;
  void set_window(const Window& window);
  bool has_window() const { return window_ != nullptr; }
  const ConvolutionDimensionNumbers& convolution_dimension_numbers() const;
  void set_convolution_dimension_numbers(
      const ConvolutionDimensionNumbers& dnums);
  bool has_convolution_dimension_numbers() const {
    return convolution_dimension_numbers_ != nullptr;
  }
  const std::string& opaque() const { return raw_backend_config_string(); }
  const std::string& custom_call_target() const { return custom_call_target_; }
  void set_custom_call_target(absl::string_view target) {
    custom_call_target_ = std::string(target);
  }
  void set_feature_group_count(int64_t feature_group_count) {
    feature_group_count_ = feature_group_count;
  }
  void set_batch_group_count(int64_t batch_group_count) {
    batch_group_count_ = batch_group_count;
  }
  void set_custom_call_has_side_effect(bool custom_call_has_side_effect) {
    custom_call_has_side_effect_ = custom_call_has_side_effect;
  }
  int64_t feature_group_count() const { return feature_group_count_; }
  int64_t batch_group_count() const { return batch_group_count_; }
  bool custom_call_has_side_effect() const {
    return custom_call_has_side_effect_;
  }
  PaddingType padding_type() const { return padding_type_; }
  void set_padding_type(PaddingType padding_type) {
    padding_type_ = padding_type;
  }
  const Literal& literal() const {
    CHECK(literal_ != nullptr);
    return *literal_;
  }
  void set_literal(Literal&& literal);
  bool HasLiteral() const { return literal_ != nullptr; }
  const PrecisionConfig& precision_config() const { return precision_config_; }
  PrecisionConfig* mutable_precision_config() { return &precision_config_; }
  // The call prescribes the layouts of its operands and result.
  bool layout_constrained() const { return layout_constrained_; }
  const std::vector<Shape>& operand_shapes_with_layout() const {
    CHECK(layout_constrained_);
    return operand_shapes_with_layout_;
  }
  void set_operand_shapes_with_layout(
      std::vector<Shape> operand_shapes_with_layout);
  void set_custom_call_schedule(CustomCallSchedule custom_call_schedule) {
    custom_call_schedule_ = custom_call_schedule;
  }
  CustomCallSchedule custom_call_schedule() const {
    return custom_call_schedule_;
  }
  void set_api_version(CustomCallApiVersion api_version) {
    api_version_ = api_version;
  }
  CustomCallApiVersion api_version() const { return api_version_; }

  // Data that a backend stores with the call; not cloned, printed or compared.
  class PerInstructionStorage {
   public:
    virtual ~PerInstructionStorage() = default;
  };
  // May be set once.
  void SetPerInstructionStorage(
      std::unique_ptr<PerInstructionStorage> per_instruction_storage);
  const PerInstructionStorage* GetPerInstructionStorage() const {
    return per_instruction_storage_.get();
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCustomCall;
  }

 protected:
  std::string default_called_computation_name() const override {
    return "custom_call_computation";
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  std::string custom_call_target_;
  std::unique_ptr<Window> window_;
  std::unique_ptr<ConvolutionDimensionNumbers> convolution_dimension_numbers_;
  int64_t feature_group_count_ = 1;
  int64_t batch_group_count_ = 1;
  std::vector<Shape> operand_shapes_with_layout_;
  std::shared_ptr<const Literal> literal_;
  PrecisionConfig precision_config_;
  std::unique_ptr<PerInstructionStorage> per_instruction_storage_;
  PaddingType padding_type_ = PaddingType::PADDING_INVALID;
  CustomCallSchedule custom_call_schedule_ = CustomCallSchedule::SCHEDULE_NONE;
  CustomCallApiVersion api_version_;
  bool layout_constrained_ = false;
  bool custom_call_has_side_effect_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_CUSTOM_CALL_H_
