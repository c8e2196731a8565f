#include "xla/hlo/transforms/operations/conv_padding_legalization.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

bool IsDilated(const HloInstruction& convolution) {
  return window_util::HasBaseDilation(convolution.window());
}

bool HasUnequalPadding(const HloInstruction& inst) {
  // Sparse factors have indices as further operands.
  return inst.opcode() == HloOpcode::kConvolution &&
         inst.operand_count() == 2 && !inst.HasControlDependencies() &&
         !inst.shape().is_dynamic() && !inst.operand(0)->shape().is_dynamic() &&
         !inst.operand(1)->shape().is_dynamic() &&
         // A window that fits nowhere may fit with more padding.
         !ShapeUtil::IsZeroElementArray(inst.shape()) &&
         // Nothing of a type without 0 can be padded.
         primitive_util::HasPositiveZero(
             inst.operand(0)->shape().element_type()) &&
         !window_util::HasSymmetricPadding(inst.window()) &&
         !window_util::HasNegativePadding(inst.window()) &&
         !(IsDilated(inst) && window_util::HasStride(inst.window()));
}

// The gradient of a convolution by its input, which the library takes as one.
bool IsInputGradient(const HloInstruction& convolution) {
  return IsDilated(convolution) ||
         (convolution.operand(1)->opcode() == HloOpcode::kReverse &&
          !window_util::HasStride(convolution.window()));
}

// Has more padding than the original, and a result to cut.
//
// More padding only adds windows before and after those of the original, as the
// stride is 1 wherever this applies; the original's start where the low side
// gained padding. Padding a dilated input instead would have to put the
// dilation into memory as well, and the library would no longer see a gradient.
HloInstruction* LegalGradient(HloConvolutionInstruction* convolution) {
  HloComputation* computation = convolution->parent();
  Shape result = convolution->shape();
  std::vector<int64_t> start(result.dimensions().size(), 0);
  Window window = convolution->window();
  for (int i = 0; i < window.dimensions_size(); ++i) {
    WindowDimension& dim = *window.mutable_dimensions(i);
    const int64_t low = dim.padding_low(), high = dim.padding_high();
    const int64_t both = std::max(low, high);
    dim.set_padding_low(both);
    dim.set_padding_high(both);
    const int64_t at =
        convolution->convolution_dimension_numbers().output_spatial_dimensions(
            i);
    start[at] = both - low;
    result.set_dimensions(at, result.dimensions(at) + 2 * both - low - high);
  }
  HloInstruction* legal =
      computation->AddInstruction(convolution->CloneWithNewOperands(
          result,
          {convolution->mutable_operand(0), convolution->mutable_operand(1)}));
  legal->set_window(window);
  std::vector<int64_t> limit = start;
  for (size_t d = 0; d < limit.size(); ++d) {
    limit[d] += convolution->shape().dimensions(d);
  }
  return computation->AddInstruction(
      HloInstruction::CreateSlice(convolution->shape(), legal, start, limit,
                                  std::vector<int64_t>(limit.size(), 1)));
}

// Has no padding, and a padded input.
HloInstruction* LegalForward(HloConvolutionInstruction* convolution) {
  HloComputation* computation = convolution->parent();
  HloInstruction* input = convolution->mutable_operand(0);
  Shape padded = input->shape();
  PaddingConfig padding = MakeNoPaddingConfig(padded.dimensions().size());
  Window window = convolution->window();
  for (int i = 0; i < window.dimensions_size(); ++i) {
    WindowDimension& dim = *window.mutable_dimensions(i);
    const int64_t low = dim.padding_low(), high = dim.padding_high();
    dim.set_padding_low(0);
    dim.set_padding_high(0);
    const int64_t at =
        convolution->convolution_dimension_numbers().input_spatial_dimensions(
            i);
    padding.mutable_dimensions(at)->set_edge_padding_low(low);
    padding.mutable_dimensions(at)->set_edge_padding_high(high);
    padded.set_dimensions(at, padded.dimensions(at) + low + high);
  }
  HloInstruction* zero = computation->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::Zero(padded.element_type())));
  HloInstruction* pad = computation->AddInstruction(
      HloInstruction::CreatePad(padded, input, zero, padding));
  pad->set_metadata(convolution->metadata());
  HloInstruction* legal =
      computation->AddInstruction(convolution->CloneWithNewOperands(
          convolution->shape(), {pad, convolution->mutable_operand(1)}));
  legal->set_window(window);
  return legal;
}

}  // namespace

bool ConvPaddingLegalization::InstructionMatchesPattern(
    HloInstruction* instruction) {
  return HasUnequalPadding(*instruction);
}

absl::StatusOr<HloInstruction*> ConvPaddingLegalization::ExpandInstruction(
    HloInstruction* instruction) {
  auto* convolution = Cast<HloConvolutionInstruction>(instruction);
  return IsInputGradient(*instruction) ? LegalGradient(convolution)
                                       : LegalForward(convolution);
}

}  // namespace xla
