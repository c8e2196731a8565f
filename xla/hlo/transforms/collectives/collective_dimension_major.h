#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_DIMENSION_MAJOR_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_DIMENSION_MAJOR_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Makes the dimension that an all-gather, reduce-scatter or all-to-all divides
// among devices the outermost one: libraries such as NCCL send and receive
// contiguous parts of a buffer. XLA gets these transposes as copies when it
// assigns layouts. Those after the collective mostly fuse with its readers;
// those before it are kernels if a convolution or a dot produces the operand,
// which then is in memory twice.
//
//   before: y = f32[8,4] reduce-scatter(f32[8,16] x), dimensions={1}
//   after:  t = f32[16,8] transpose(x)
//           s = f32[4,8] reduce-scatter(t), dimensions={0}
//           y = f32[8,4] transpose(s)
//
// Leaves alone: several operands, tuple forms of all-to-all, dimensions before
// which all others have size 1, layouts other than the default, dynamic sizes,
// constrained layouts, control dependencies, modules that are not partitioned
// yet (shardings). O(instructions).
class CollectiveDimensionMajor : public HloModulePass {
 public:
  CollectiveDimensionMajor() = default;
  ~CollectiveDimensionMajor() override = default;
  absl::string_view name() const override {
    return "collective-dimension-major";
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_COLLECTIVE_DIMENSION_MAJOR_H_
