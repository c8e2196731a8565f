#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_DOTS_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_DOTS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Dots and convolutions. Include hlo_instructions.h for all.

namespace xla {

class HloConvolutionInstruction : public HloInstruction {
 public:
  HloConvolutionInstruction(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      int64_t feature_group_count, int64_t batch_group_count,
      const Window& window,
      const ConvolutionDimensionNumbers& dimension_numbers,
      const PrecisionConfig& precision_config,
      const SparsityConfig& sparsity_config,
      ConvolutionKind convolution_kind = CONVOLUTION_KIND_UNSET);
  const Window& window() const { return window_; }
  void set_window(const Window& window) { window_ = window; }
  const ConvolutionDimensionNumbers& convolution_dimension_numbers() const {
    return convolution_dimension_numbers_;
  }
  void set_convolution_dimension_numbers(
      const ConvolutionDimensionNumbers& dnums) {
    convolution_dimension_numbers_ = dnums;
  }
  int64_t feature_group_count() const { return feature_group_count_; }
  void set_feature_group_count(int64_t num_feature_groups) {
    feature_group_count_ = num_feature_groups;
  }
  int64_t batch_group_count() const { return batch_group_count_; }
  void set_batch_group_count(int64_t num_batch_groups) {
    batch_group_count_ = num_batch_groups;
  }
  ConvolutionKind convolution_kind() const { return convolution_kind_; }
  void set_convolution_kind(ConvolutionKind convolution_kind) {
    convolution_kind_ = convolution_kind;
  }
  const PrecisionConfig& precision_config() const { return precision_config_; }
  PrecisionConfig* mutable_precision_config() { return &precision_config_; }
  const SparsityConfig& sparsity_config() const { return sparsity_config_; }
  void set_sparsity_config(const SparsityConfig& sparsity_config) {
    sparsity_config_ = sparsity_config;
  }
  std::string ToCategory() const override;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kConvolution;
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

  int64_t feature_group_count_;
  int64_t batch_group_count_;
  Window window_;
  ConvolutionDimensionNumbers convolution_dimension_numbers_;
  PrecisionConfig precision_config_;
  SparsityConfig sparsity_config_;
  ConvolutionKind convolution_kind_;
};

class HloDotInstruction : public HloInstruction {
 public:
  HloDotInstruction(const Shape& shape, HloInstruction* lhs,
                    HloInstruction* rhs,
                    const DotDimensionNumbers& dimension_numbers,
                    const PrecisionConfig& precision_config);
  const DotDimensionNumbers& dot_dimension_numbers() const {
    return dot_dimension_numbers_;
  }
  DotDimensionNumbers* mutable_dot_dimension_numbers() {
    return &dot_dimension_numbers_;
  }
  const PrecisionConfig& precision_config() const { return precision_config_; }
  PrecisionConfig* mutable_precision_config() { return &precision_config_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kDot;
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

  DotDimensionNumbers dot_dimension_numbers_;
  PrecisionConfig precision_config_;
};

class HloRaggedDotInstruction : public HloInstruction {
 public:
  HloRaggedDotInstruction(const Shape& shape, HloInstruction* lhs,
                          HloInstruction* rhs, HloInstruction* group_sizes,
                          const RaggedDotDimensionNumbers& dimension_numbers,
                          const PrecisionConfig& precision_config);
  const RaggedDotDimensionNumbers& ragged_dot_dimension_numbers() const {
    return ragged_dot_dimension_numbers_;
  }
  RaggedDotDimensionNumbers* mutable_ragged_dot_dimension_numbers() {
    return &ragged_dot_dimension_numbers_;
  }
  const PrecisionConfig& precision_config() const { return precision_config_; }
  PrecisionConfig* mutable_precision_config() { return &precision_config_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kRaggedDot;
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

  RaggedDotDimensionNumbers ragged_dot_dimension_numbers_;
  PrecisionConfig precision_config_;
};

class HloScaledDotInstruction : public HloInstruction {
 public:
  HloScaledDotInstruction(const Shape& shape, HloInstruction* lhs,
                          HloInstruction* rhs, HloInstruction* lhs_scale,
                          HloInstruction* rhs_scale,
                          const DotDimensionNumbers& dimension_numbers,
                          const PrecisionConfig& precision_config);
  const DotDimensionNumbers& dot_dimension_numbers() const {
    return dot_dimension_numbers_;
  }
  DotDimensionNumbers* mutable_dot_dimension_numbers() {
    return &dot_dimension_numbers_;
  }
  const PrecisionConfig& precision_config() const { return precision_config_; }
  PrecisionConfig* mutable_precision_config() { return &precision_config_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kScaledDot;
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

  DotDimensionNumbers dot_dimension_numbers_;
  PrecisionConfig precision_config_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_DOTS_H_
