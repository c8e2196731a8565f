#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_RESIDUALS_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_RESIDUALS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// A stack that one loop writes and another one reads: what a layer saves for
// its backward pass when layers are scanned.
//
//   forward, trip i:   x = f(w[i], h); stack[i] = x;  …
//   backward, trip j:  … x = stack[j] …
//
// The stack can be dropped if the backward loop can compute x from what it has
// or can get:
//
//   backward, trip j:  … x = f(w[j], h_stack[j]) …
//
// namely from other stacks of the same loop, from invariants of the forward
// loop (also slices of them), from constants and the trip number. The forward
// loop must count trips from 0 by 1 and write stack[i] in trip i, for all i.
struct LoopResidual {
  HloInstruction* forward = nullptr;
  HloInstruction* backward = nullptr;
  int64_t forward_element = 0;
  int64_t backward_element = 0;
  int64_t bytes = 0;
};

// All stacks of the module whose loops have the right form, in schedule order.
std::vector<LoopResidual> FindLoopResiduals(const HloModule& module);

// An order in which stacks can be dropped one after another: least seconds per
// byte first, given that those before it are gone. Leaves out those that cannot
// be dropped any more. Numbers are those of FindLoopResiduals(). `seconds`: of
// one run of an instruction.
std::vector<int> OrderOfDrops(
    absl::Span<const LoopResidual> residuals,
    absl::FunctionRef<double(const HloInstruction&)> seconds);

// The same for all stacks of a scheduled module, priced for a device. Errors:
// those of HloCostAnalysis.
absl::StatusOr<std::vector<int>> OrderOfDrops(
    const HloModule& module, const HloCostAnalysis::Options& device);

// Drops the stacks with these numbers, which must be a prefix of
// OrderOfDrops(), and updates the schedule.
absl::Status DropLoopResiduals(absl::Span<const int> drops, HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_RESIDUALS_H_
