#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_EPILOGUE_FLATTENER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_EPILOGUE_FLATTENER_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct ReductionEpilogueFlattenerOptions {
  std::string device = "h100";

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
  }
};

// Lets reduction kernels write results in the dimensions of the reduction;
// readers in other dimensions use a bitcast.
//
//   before: f = bf16[4,8,1] fusion(x), kind=kInput, calls=
//             r = f32[32] reduce(…)
//             b = f32[4,8,1] bitcast(r)
//             ROOT c = bf16[4,8,1] convert(b)
//   after:  g = bf16[32] fusion(x), kind=kInput, calls=
//             r = f32[32] reduce(…)
//             ROOT c = bf16[32] convert(r)
//           f = bf16[4,8,1] bitcast(g)
//
// Code generators can write several results in one kernel if they have the
// dimensions of its reduction (mof_kernels.h), so this lets more kernels merge.
// Between reduction and result may be reshapes that move nothing, bitcasts,
// elementwise instructions of one operand, and those with another operand that
// is a broadcast scalar. Leaves alone: reductions that several blocks of
// threads add up (code generators write their results only by atomic
// operations), several results, results that something else in the kernel
// reads, control dependencies, fusions that work in place. O(instructions).
class ReductionEpilogueFlattener : public HloModulePass {
 public:
  explicit ReductionEpilogueFlattener(
      ReductionEpilogueFlattenerOptions options = {})
      : options_(std::move(options)) {}

  absl::string_view name() const override {
    return "reduction-epilogue-flattener";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  ReductionEpilogueFlattenerOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_REDUCTION_EPILOGUE_FLATTENER_H_
