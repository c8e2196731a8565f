#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_FUSION_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct GemmFusionOptions {
  std::string device = "h100";
  bool upstream = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("upstream", upstream,
          "fuse what OpenXLA fuses when it tries no library call: what is "
          "elementwise before and after, whatever the cost, but no slices");
  }
};

// Lets a dot read slices and converted values where they are in memory, instead
// of a copy made by a separate kernel. The dot becomes a kernel of a tiling
// compiler.
//
//   before: w = f32[24,64,64] parameter(0)
//           s = f32[1,64,64] dynamic-slice(w, i, 0, 0)
//           d = f32[32,64] dot(x, f32[64,64] reshape(s)), …
//   after:  d = f32[32,64] fusion(x, w, i), kind=kCustom, calls={s, d},
//           backend_config={"__triton", … "sizes":["32","64"] …}
//
// For dots whose operands are matrices in memory, or batches of them (the
// operand may have more dimensions; see gemm_operand.h), whose slices cut whole
// rows or columns or pick one of several matrices. Only where that saves time:
// a copy is neither written nor read again, and its kernel is not launched (if
// several dots, and nothing else, read a slice, each gets its share of that);
// but a library's dot is assumed to be 25 % faster than a compiler's. So large
// dots, which take longer to compute than to read, stay as they are.
//
// A value that is both operands of a dot is computed once, from one parameter.
//
// Elementwise instructions that follow such a dot, each the only reader of the
// one before, become part of the kernel if their result is no wider than the
// dot's, as many as the limit on a fusion's operands allows (gpu_fusible.h).
// Adding a residual, for instance, then takes no kernel of its own, however
// many kernels read the sum:
//
//   after:  r = f32[32,64] fusion(x, w, i, p), calls={s, d, add(d, p)}
//
// upstream: what OpenXLA's pass makes of dots that it does not hand to a
// library. The fusion has kind "__triton_gemm", which no other kernel fuses
// with, and ends with the elementwise instructions after the dot that nothing
// else reads:
//
//   before: d = f32[32,64] dot(x, y), …
//           r = f32[32,64] subtract(p, multiply(d, broadcast(0.1)))
//   after:  r = f32[32,64] fusion(x, y, p), kind=kCustom, calls={d, r}
//
// It may overwrite p. A transpose of the result exchanges the operands. An
// operand is computed in it, again for each such dot, if it is elementwise from
// one array that is no wider, and scalar constants:
//
//   before: r = f32[32,64] maximum(x, broadcast(0)), read by other kernels, too
//           d = f32[32,32] dot(r, y), …
//   after:  d = f32[32,32] fusion(x, y), kind=kCustom, calls={maximum, d}
//
// Leaves alone: products with vectors; copies with readers other than dots,
// that several dots read in another type, or that would fuse with the producer
// of their source; types other than f16, bf16 and f32; dots with a requested
// algorithm; control dependencies. O(instructions + dots * elementwise
// instructions that follow one).
class GemmFusion : public HloModulePass {
 public:
  explicit GemmFusion(GemmFusionOptions options = {})
      : options_(std::move(options)) {}

  absl::string_view name() const override { return "triton-gemm-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  GemmFusionOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_GEMM_FUSION_H_
