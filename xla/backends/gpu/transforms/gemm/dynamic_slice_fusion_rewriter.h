#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_DYNAMIC_SLICE_FUSION_REWRITER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_DYNAMIC_SLICE_FUSION_REWRITER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct DynamicSliceFusionRewriterOptions {
  KernelTarget kernels_for = KernelTarget::kXla;
  int64_t min_dynamic_bytes = 64 << 20;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("kernels-for", kernels_for,
          "who computes dots: xla takes them as custom calls alone, or own");
    visit("min-dynamic-bytes", min_dynamic_bytes,
          "minimum bytes of a dynamic slice: the host waits for its place");
  }
};

// Lets library calls read slices where they are in memory, such as the weights
// of a layer in a stack of all, instead of a copy that another kernel makes.
//
//   before: s = bf16[1,4096,4096] dynamic-slice(w, i, 0, 0), …
//           d = bf16[512,4096] dot(x, bf16[4096,4096] bitcast(s)), …
//   after:  d = bf16[512,4096] fusion(x, w, i), kind=kCustom, calls={s, …, d},
//               kind "__custom_fusion", name "dynamic_slice_fusion"
//
// Library calls are OpenXLA's custom calls of matrix products that only read
// and, with kernels-for=own, dots that cuBLASLt takes (library_dot.h):
// OpenXLA's backend does not compile a fusion with a dot that is no custom call
// yet. A slice is one stretch of memory that begins at a multiple of 256 bytes,
// as allocations do, whatever its indices are. Nothing but such calls reads it:
// otherwise it is made in any case. A slice of what would fuse with it is left
// to other kernels, and so are small dynamic slices: the host tells the library
// where operands are, and waits for the place about as long as copying takes.
//
// Leaves alone: slices and constant indices with control dependencies; indices
// of types other than s32, s64 and u32; elements that share bytes; what is in
// another memory space than its slice, which is a transfer.
// O(instructions + slices * their readers).
class DynamicSliceFusionRewriter : public HloModulePass {
 public:
  explicit DynamicSliceFusionRewriter(
      const DynamicSliceFusionRewriterOptions& options = {})
      : options_(options) {}

  absl::string_view name() const override {
    return "dynamic-slice-fusion-rewriter";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  DynamicSliceFusionRewriterOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_DYNAMIC_SLICE_FUSION_REWRITER_H_
