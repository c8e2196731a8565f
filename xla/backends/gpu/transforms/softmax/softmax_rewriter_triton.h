#ifndef XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_SOFTMAX_REWRITER_TRITON_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_SOFTMAX_REWRITER_TRITON_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct SoftmaxRewriterTritonOptions {
  std::string device = "h100";
  KernelTarget kernels_for = KernelTarget::kXla;
  bool upstream = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("kernels-for", kernels_for,
          "whose code generators compile the kernels: xla's or own");
    visit("upstream", upstream,
          "as XLA:GPU does, only where what a reduction gives is combined with "
          "one other value");
  }
};

// Makes one kernel of instructions that reduce rows and combine the result with
// the rows again: softmax, layer norm and the like. A program of a tiling
// compiler keeps its rows in registers and reads them once.
//
//   before: m = f32[127] reduce(x, -inf), dimensions={1}, to_apply=max
//           b = f32[127,125] broadcast(m), dimensions={0}
//           s = f32[127,125] subtract(x, b)
//   after:  s = f32[127,125] fusion(x), kind=kCustom, calls={m, b, s},
//           backend_config={"__triton", … "sizes":["1","125"] …}
//
// The pass starts at elementwise instructions, broadcasts, reshapes and
// reductions, and fuses each producer whose only readers are in the kernel into
// its reader, so that kernels grow as large as one result allows. If no tiling
// fits into the registers, it tries less: without what precedes the reductions,
// then without what follows the last row-wise use of one, then with the last
// reduction alone. Several reductions in sequence, as in layer norm, become one
// kernel.
//
// With kernels-for=own, kernels are our own, which know more opcodes
// (kernel_target.h); instructions without a lowering stay outside.
//
// Leaves alone: instructions without such a form, reductions of several
// dimensions or not of the minor one, rows of less than 16 elements, a single
// row, kernels that would be slower than a separate kernel per reduction (for
// instance because a sum is combined with other rows than those summed),
// control dependencies, side effects. Reductions are in the form that
// reduction_dimension_grouper.h leaves, and not yet split. Besides the search
// for tilings, O(instructions * operands of a kernel).
class SoftmaxRewriterTriton : public HloModulePass {
 public:
  explicit SoftmaxRewriterTriton(SoftmaxRewriterTritonOptions options = {})
      : options_(std::move(options)) {}
  explicit SoftmaxRewriterTriton(se::DeviceDescription device)
      : device_(std::move(device)) {}

  absl::string_view name() const override { return "triton-softmax-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  SoftmaxRewriterTritonOptions options_;
  std::optional<se::DeviceDescription> device_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_SOFTMAX_SOFTMAX_REWRITER_TRITON_H_
