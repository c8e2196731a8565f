#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_VARIANT_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_VARIANT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// A way to rewrite a module before programs of its computations are searched:
// passes of transforms/loops (rewrite_passes.h), with the fuel that they get.
struct ModuleVariant {
  static constexpr int kAll = 1 << 20;

  // Number of stacked residuals that are recomputed in the loop that reads
  // them, the cheapest first (loop_residuals.h), after stack accesses have been
  // taken out of fusions (loop_unfusing.h).
  int drops = 0;
  // Number of invariants that loops compute themselves, the cheapest first
  // (loop_sinking.h).
  int sinks = 0;
  // Loops update the arguments whose gradients they make (loop_updates.h).
  bool updates = false;
  // Large results of fusions have fusions of their own (fusion_splitting.h).
  bool split = false;
  // Masks, and what else takes less memory than the values that it is made of,
  // are kept instead of these (narrow_values.h).
  bool narrow = false;
  // Values that follow from others with this part of their bytes, or less, are
  // computed in their readers (expansion_fusion.h): 4 for a quarter, 0.5 for
  // twice as many; 0: none.
  double fuse_part = 0;
  // Reschedules if that needs less (reschedule.h).
  bool reschedule = false;
  // Values are moved out until the module fits in this many bytes, as far as
  // possible; -1: none are.
  int64_t move_out_limit = -1;

  bool operator==(const ModuleVariant& other) const {
    return drops == other.drops && sinks == other.sinks &&
           updates == other.updates && split == other.split &&
           narrow == other.narrow && fuse_part == other.fuse_part &&
           reschedule == other.reschedule &&
           move_out_limit == other.move_out_limit;
  }

  // Whether the rewrites themselves make loops compute more.
  bool Recomputes() const { return drops > 0 || sinks > 0; }

  // "plan", "residuals+invariants+plan", ...
  std::string Name() const;
};

// Variants that differ in drops, sinks and updates only, the ones with most
// first; without those that rewrite nothing.
absl::StatusOr<std::vector<ModuleVariant>> LoopVariants(
    const HloModule& module, const HloCostAnalysis::Options& device);

// Moves values of a module out until it fits in the given bytes.
using MoveOut = std::function<absl::Status(int64_t limit_bytes, HloModule*)>;

// Rewrites a scheduled module. FailedPrecondition if a part of the variant has
// nothing to do.
absl::Status PrepareVariant(const ModuleVariant& variant,
                            const HloCostAnalysis::Options& device,
                            const MoveOut& move_out, HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_MODULE_VARIANT_H_
