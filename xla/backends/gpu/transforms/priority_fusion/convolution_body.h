#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_BODY_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_BODY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla::gpu {

// The body of a fusion that replaces a depthwise convolution or the gradient of
// its windows (see convolution_kernels.h). Each object builds one body.
class ConvolutionBody {
 public:
  explicit ConvolutionBody(const HloConvolutionInstruction& convolution);
  std::unique_ptr<HloComputation> Depthwise();
  // A tuple of sums, one per element of the window, each with one value per
  // feature; or, if these are more than a block can add up, one per feature of
  // each image, in the order that the image's dimensions have. Null: the device
  // cannot make use of such reductions.
  std::unique_ptr<HloComputation> WindowGradient(
      Additions* adds, const stream_executor::DeviceDescription& device);
  // The window sizes of the result of a gradient.
  std::vector<int64_t> WindowSizes() const;

 private:
  HloInstruction* SumsOver(const std::vector<int64_t>& dimensions,
                           const std::vector<HloInstruction*>& products,
                           Additions* adds);
  HloInstruction* Binary(HloOpcode opcode, HloInstruction* a,
                         HloInstruction* b);
  HloInstruction* Padded(HloInstruction* image);
  // By spatial dimension: every `steps`-th element from `starts` on, `counts`
  // of them.
  HloInstruction* ImageAt(absl::Span<const int64_t> starts,
                          absl::Span<const int64_t> steps,
                          absl::Span<const int64_t> counts);
  // One weight per feature, for all elements of the result.
  HloInstruction* WeightsAt(absl::Span<const int64_t> tap, const Shape& shape);

  const HloConvolutionInstruction& convolution_;
  const ConvolutionDimensionNumbers& dnums_;
  const PrimitiveType type_;  // of products and sums
  HloComputation::Builder builder_;
  HloInstruction* zero_;
  HloInstruction* image_;  // with padding
  HloInstruction* other_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_CONVOLUTION_BODY_H_
