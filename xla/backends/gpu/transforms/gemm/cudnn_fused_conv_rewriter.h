#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Fuses convolutions with what cuDNN computes after them in the same call:
// a scalar factor, then a bias (for each feature, or one) and another array, in
// either order, then maximum(_, 0).
//
//   before: c = f32[8,28,28,64] convolution(x, w), dim_labels=b01f_01io->b01f
//           a = f32[8,28,28,64] add(c, broadcast(b)), of f32[64] b
//           s = f32[8,28,28,64] add(a, y)
//           r = f32[8,28,28,64] maximum(s, broadcast(0))
//   after:  r = f32[8,28,28,64] fusion(x, w, b, y), kind=kCustom,
//               calls={c, a, s, r}, kind "__cudnn$fusion"
//
// Each but the last is only read by the next. The library needs no second
// result for what is in between, but reads y while it writes r, so they do not
// share memory. All elements of y are in memory, also those of a broadcast: of
// a second bias, or along another dimension. A factor alone is left to other
// kernels.
//
// Leaves alone: convolutions that compute gradients (of reversed or larger
// filters, of batches in groups, of dilated inputs), as these calls have no
// such form; types other than f16, bf16 and f32; control dependencies.
// O(instructions).
class CudnnFusedConvRewriter : public HloModulePass {
 public:
  absl::string_view name() const override {
    return "cudnn-fused-convolution-rewriter";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_
