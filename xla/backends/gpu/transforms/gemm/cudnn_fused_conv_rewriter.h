#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct CudnnFusedConvRewriterOptions {
  KernelTarget kernels_for = KernelTarget::kXla;
  bool groups = true;
  bool broadcasts = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("kernels-for", kernels_for,
          "whose calls compute convolutions: xla's or own");
    visit("groups", groups,
          "fuse convolutions in groups of features, which may become loops");
    visit("broadcasts", broadcasts,
          "add broadcasts other than biases, which then take memory");
  }
};

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
// a second bias, or along another dimension. If y is another array times a
// scalar constant, the call reads that array and has the factor, too. A factor
// alone is left to other kernels.
//
// broadcasts=false: the call ends before a broadcast that is no bias, which a
// kernel of its own reads where it is small. groups=false: convolutions in
// groups of features stay as they are, for priority-fusion to make loops of.
//
// kernels-for=own: what our own kernels of convolutions compute afterwards, all
// that is elementwise (gemm_epilogue.h):
//
//   before: t = f32[2,8,8,4] tanh(multiply(c, broadcast(scale)))
//   after:  t = f32[2,8,8,4] fusion(x, w, scale), kind=kCustom,
//               calls={c, multiply, tanh}
//
// also of gradients by inputs and of other types.
//
// What must run before any of them runs before the call; the last is the first
// that something else must wait for.
//
// Leaves alone: convolutions that compute gradients (of reversed or larger
// filters, of batches in groups, of dilated inputs), as these calls have no
// such form; types other than f16, bf16 and f32; broadcasts with control
// dependencies. O(instructions).
class CudnnFusedConvRewriter : public HloModulePass {
 public:
  explicit CudnnFusedConvRewriter(
      const CudnnFusedConvRewriterOptions& options = {})
      : options_(options) {}

  absl::string_view name() const override {
    return "cudnn-fused-convolution-rewriter";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  CudnnFusedConvRewriterOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_CUDNN_FUSED_CONV_REWRITER_H_
