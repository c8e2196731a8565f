// Dots and convolutions.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/window_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;
using google::protobuf::util::MessageDifferencer;

namespace {

// Without reflection, for what is compared most.
bool Equal(const DotDimensionNumbers& a, const DotDimensionNumbers& b) {
  return absl::c_equal(a.lhs_contracting_dimensions(),
                       b.lhs_contracting_dimensions()) &&
         absl::c_equal(a.rhs_contracting_dimensions(),
                       b.rhs_contracting_dimensions()) &&
         absl::c_equal(a.lhs_batch_dimensions(), b.lhs_batch_dimensions()) &&
         absl::c_equal(a.rhs_batch_dimensions(), b.rhs_batch_dimensions());
}

// Default precision for every operand is the same as none given.
bool Equal(const PrecisionConfig& a, const PrecisionConfig& b) {
  if (a.algorithm() != b.algorithm()) return false;
  const int count =
      std::max(a.operand_precision_size(), b.operand_precision_size());
  for (int i = 0; i < count; ++i) {
    const auto at = [i](const PrecisionConfig& config) {
      return i < config.operand_precision_size() ? config.operand_precision(i)
                                                 : PrecisionConfig::DEFAULT;
    };
    if (at(a) != at(b)) return false;
  }
  return true;
}

}  // namespace

HloDotInstruction::HloDotInstruction(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    const DotDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config)
    : HloInstruction(HloOpcode::kDot, shape),
      dot_dimension_numbers_(dimension_numbers),
      precision_config_(precision_config) {
  AppendOperands({lhs, rhs});
}

bool HloDotInstruction::IdenticalSlowPath(const HloInstruction& other,
                                          EqComputations eq) const {
  const auto& that = static_cast<const HloDotInstruction&>(other);
  return Equal(dot_dimension_numbers_, that.dot_dimension_numbers_) &&
         Equal(precision_config_, that.precision_config_);
}

HloPtr HloDotInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                   Operands new_operands,
                                                   HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloDotInstruction>(
      shape, new_operands[0], new_operands[1], dot_dimension_numbers_,
      precision_config_);
}

HloRaggedDotInstruction::HloRaggedDotInstruction(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    HloInstruction* group_sizes,
    const RaggedDotDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config)
    : HloInstruction(HloOpcode::kRaggedDot, shape),
      ragged_dot_dimension_numbers_(dimension_numbers),
      precision_config_(precision_config) {
  AppendOperands({lhs, rhs, group_sizes});
}

bool HloRaggedDotInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                EqComputations eq) const {
  const auto& that = static_cast<const HloRaggedDotInstruction&>(other);
  return MessageDifferencer::Equals(ragged_dot_dimension_numbers_,
                                    that.ragged_dot_dimension_numbers_) &&
         Equal(precision_config_, that.precision_config_);
}

HloPtr HloRaggedDotInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 3);
  return std::make_unique<HloRaggedDotInstruction>(
      shape, new_operands[0], new_operands[1], new_operands[2],
      ragged_dot_dimension_numbers_, precision_config_);
}

HloScaledDotInstruction::HloScaledDotInstruction(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    HloInstruction* lhs_scale, HloInstruction* rhs_scale,
    const DotDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config)
    : HloInstruction(HloOpcode::kScaledDot, shape),
      dot_dimension_numbers_(dimension_numbers),
      precision_config_(precision_config) {
  AppendOperands({lhs, rhs, lhs_scale, rhs_scale});
}

bool HloScaledDotInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                EqComputations eq) const {
  const auto& that = static_cast<const HloScaledDotInstruction&>(other);
  return Equal(dot_dimension_numbers_, that.dot_dimension_numbers_) &&
         Equal(precision_config_, that.precision_config_);
}

HloPtr HloScaledDotInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 4);
  return std::make_unique<HloScaledDotInstruction>(
      shape, new_operands[0], new_operands[1], new_operands[2], new_operands[3],
      dot_dimension_numbers_, precision_config_);
}

HloConvolutionInstruction::HloConvolutionInstruction(
    const Shape& shape, Operands operands, int64_t feature_group_count,
    int64_t batch_group_count, const Window& window,
    const ConvolutionDimensionNumbers& dimension_numbers,
    const PrecisionConfig& precision_config,
    const SparsityConfig& sparsity_config, ConvolutionKind convolution_kind)
    : HloInstruction(HloOpcode::kConvolution, shape),
      feature_group_count_(feature_group_count),
      batch_group_count_(batch_group_count),
      window_(window),
      convolution_dimension_numbers_(dimension_numbers),
      precision_config_(precision_config),
      sparsity_config_(sparsity_config),
      convolution_kind_(convolution_kind) {
  AppendOperands(operands);
}

std::string HloConvolutionInstruction::ToCategory() const {
  std::string category = "convolution";
  if (window_util::HasBaseDilation(window_)) category += " base-dilated";
  if (window_util::HasWindowDilation(window_)) category += " window-dilated";
  return category;
}

bool HloConvolutionInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                  EqComputations eq) const {
  const auto& that = static_cast<const HloConvolutionInstruction&>(other);
  return feature_group_count_ == that.feature_group_count_ &&
         batch_group_count_ == that.batch_group_count_ &&
         convolution_kind_ == that.convolution_kind_ &&
         MessageDifferencer::Equals(window_, that.window_) &&
         MessageDifferencer::Equals(convolution_dimension_numbers_,
                                    that.convolution_dimension_numbers_) &&
         MessageDifferencer::Equals(sparsity_config_, that.sparsity_config_) &&
         Equal(precision_config_, that.precision_config_);
}

HloPtr HloConvolutionInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloConvolutionInstruction>(
      shape, new_operands, feature_group_count_, batch_group_count_, window_,
      convolution_dimension_numbers_, precision_config_, sparsity_config_,
      convolution_kind_);
}

}  // namespace xla
