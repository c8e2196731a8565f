#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_CONVOLUTION_PAD_FOLDER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_CONVOLUTION_PAD_FOLDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Lets a convolution's window pad its input with zeros, instead of an
// instruction that writes the padded input.
//
//   before: p = f32[1,10,3] pad(f32[1,8,3] x, 0), padding=0_0x1_1x0_0
//           convolution(p, w), window={size=3}, dim_labels=b0f_0io->b0f
//   after:  convolution(x, w), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f
//
// Padding between elements becomes dilation of the input. Legal because what a
// window has beside its input counts as zero; weights that are infinite or no
// number make a difference there, since they are no longer multiplied by zeros.
//
// Leaves alone: padding of batch or feature dimensions, that is negative or by
// other values, dilated inputs, sparse factors, dynamic shapes, control
// dependencies; windows of the whole padded image, which are matrix products as
// they are. O(instructions).
class ConvolutionPadFolder : public HloModulePass {
 public:
  absl::string_view name() const override { return "convolution-pad-folder"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_CONVOLUTION_PAD_FOLDER_H_
