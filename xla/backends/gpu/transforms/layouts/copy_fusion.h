#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_FUSION_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

// Lets kernels write copies of their results themselves.
//
//   before: b = f32[64] fusion(), kind=kLoop    a fill with zeros
//           c = f32[64] copy(b)                 or the same fill again, of less
//                                               than 1 MiB
//   after:  f = (f32[64], f32[64]) fusion(), kind=kLoop
//
// A kernel less, and nothing is read again; but the copy is there as soon as
// what it is of. So XLA:GPU does it, whatever memory that takes. Only kernels
// that go through their operands element by element. Leaves alone: kernels of
// several results, and whatever has control dependencies or a schedule.
// O(instructions log instructions).
class CopyFusion : public HloModulePass {
 public:
  absl::string_view name() const override { return "copy-fusion"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_COPY_FUSION_H_
