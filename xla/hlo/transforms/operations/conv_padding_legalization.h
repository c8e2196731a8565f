#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_CONV_PADDING_LEGALIZATION_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_CONV_PADDING_LEGALIZATION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/operations/op_expander_pass.h"

namespace xla {

// Gives convolutions the same padding on both sides, which is all that cuDNN
// knows: where a dimension has more on one side, the input is padded instead.
//
//   before: convolution(f32[1,8,3] x, w), window={size=3 stride=2 pad=0_1}
//   after:  p = f32[1,9,3] pad(x, 0), padding=0_0x0_1x0_0
//           convolution(p, w), window={size=3 stride=2}
//
// Gradients by the input, whose input is dilated or whose filter is reversed,
// get the larger padding on both sides, and their result is cut.
//
//   before: f32[1,8,3] convolution(g, w), window={size=3 pad=2_1 lhs_dilate=2}
//   after:  c = f32[1,9,3] convolution(g, w),
//                          window={size=3 pad=2_2 lhs_dilate=2}
//           slice(c), slice={[0:1], [0:8], [0:3]}
//
// Leaves alone: negative padding, dilated inputs with strides, empty results,
// types without 0, sparse factors, dynamic shapes, control dependencies.
// O(instructions).
class ConvPaddingLegalization : public OpExpanderPass {
 public:
  absl::string_view name() const override {
    return "conv-padding-legalization";
  }

 protected:
  bool InstructionMatchesPattern(HloInstruction* instruction) override;
  absl::StatusOr<HloInstruction*> ExpandInstruction(
      HloInstruction* instruction) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_CONV_PADDING_LEGALIZATION_H_
