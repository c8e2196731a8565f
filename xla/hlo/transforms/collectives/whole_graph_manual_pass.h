#ifndef XLA_HLO_TRANSFORMS_COLLECTIVES_WHOLE_GRAPH_MANUAL_PASS_H_
#define XLA_HLO_TRANSFORMS_COLLECTIVES_WHOLE_GRAPH_MANUAL_PASS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Marks the module as already being the program of one of several devices, so
// that a partitioner leaves it alone.
//
//   before: a = f32[8] parameter(0), sharding={replicated}
//           r = f32[8] all-reduce(a); ROOT n = negate(r)
//   after:  a = f32[8] parameter(0), sharding={manual}
//           r = f32[8] all-reduce(a), sharding={manual}
//           ROOT n = negate(r), sharding={manual}
//
// Parameters, roots, partition ids, collectives and what has side effects are
// manual in computations of the control flow; nothing else has a sharding
// afterwards. A module with borders of manual regions (SPMDFullToShardShape,
// SPMDShardToFullShape) is that of all devices outside of them, and stays as it
// is. O(instructions).
class WholeGraphManualPass : public HloModulePass {
 public:
  WholeGraphManualPass() = default;
  absl::string_view name() const override { return "whole-graph-manual-pass"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COLLECTIVES_WHOLE_GRAPH_MANUAL_PASS_H_
