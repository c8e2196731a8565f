#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_SLICE_SINKER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_SLICE_SINKER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Computes once, on whole values, what is computed on several of their slices.
//
//   before: a = f32[4] add(slice(x) [0:4], slice(y) [0:4])
//           b = f32[6] add(slice(x) [4:10], slice(y) [4:10])
//   after:  c = f32[10] add(x, y)
//           a = slice(c) [0:4], b = slice(c) [4:10]
//
// Legal because an elementwise instruction treats each element alike wherever
// it is. Merges instructions that do the same to equal slices of the same
// values, if two or more of them together compute at least as many elements as
// the values have. Readers of the results follow.
//
// Leaves alone: dynamic shapes, control dependencies, shardings, copies, calls
// and random numbers. O(instructions + edges) for operations that are moved
// once each.
class SliceSinker : public HloModulePass {
 public:
  absl::string_view name() const override { return "slice-sinker"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_SLICE_SINKER_H_
