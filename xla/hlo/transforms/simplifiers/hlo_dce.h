#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_DCE_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_DCE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct HloDceOptions {
  // Remove collectives whose results are not used.
  bool remove_cross_partition_collective_ops = false;
  // Remove unused parameters of called computations, and their operands.
  bool use_call_analysis = false;
  // Remove unused entry parameters, too, which changes the signature.
  bool remove_dead_parameters_from_entry_computation = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("remove-collectives", remove_cross_partition_collective_ops,
          "remove unused collectives");
    visit("call-analysis", use_call_analysis,
          "remove unused parameters of called computations and the operands "
          "passed for them");
    visit("remove-entry-parameters",
          remove_dead_parameters_from_entry_computation,
          "remove unused entry parameters");
  }
};

// Dead code elimination.
//
//   before: n = negate(p)                     after: —
//           f = fusion(a, b) → (x, y)                 f = fusion(a) → x
//           ROOT r = get-tuple-element(f), index=0    ROOT f
//
// Removes instructions that have no users, are not the root and have no effect
// of their own, then operands that become dead; outputs of multi-output fusions
// that nothing reads (a tuple of one output becomes the output itself);
// parameters of fusions that nothing reads, on request those of other callees;
// computations that the entry does not reach. A second run changes nothing.
//
// Kept: parameters, control dependencies, side effects; a sharding annotation
// without users on a live value, which propagation reads; a while with frontend
// attribute xla_disable_while_loop_dce="true". A custom call `tpu_custom_call`
// with xla_allow_dce_side_effecting_op="true" may be removed although it has a
// side effect.
//
// O(instructions + edges). The schedule is kept up to date.
class HloDCE : public HloModulePass {
 public:
  explicit HloDCE(bool remove_cross_partition_collective_ops = false,
                  bool use_call_analysis = false) {
    options_.remove_cross_partition_collective_ops =
        remove_cross_partition_collective_ops;
    options_.use_call_analysis = use_call_analysis;
  }
  explicit HloDCE(const HloDceOptions& options) : options_(options) {}
  ~HloDCE() override = default;

  absl::string_view name() const override { return "hlo-dce"; }

  // Runs on one computation. If `call_graph` is given (its contents are not
  // consulted), unread parameters are removed from callers too.
  static absl::StatusOr<bool> RunOnComputation(
      HloComputation* computation,
      bool remove_cross_partition_collective_ops = false,
      CallGraph* call_graph = nullptr,
      bool remove_dead_parameters_from_entry_computation = false);

  void set_remove_dead_parameters_from_entry_computation(
      bool remove_dead_parameters_from_entry_computation) {
    options_.remove_dead_parameters_from_entry_computation =
        remove_dead_parameters_from_entry_computation;
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloDceOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_DCE_H_
