#ifndef XLA_HLO_TRANSFORMS_LOOPS_LOOP_SINKING_H_
#define XLA_HLO_TRANSFORMS_LOOPS_LOOP_SINKING_H_

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

// A value that a loop merely carries, although its body could compute it.
//
//   m = broadcast(c); w = while(tuple(m, …))    m waits through the loop
//   → w = while(tuple(c, …)), body: m = broadcast(c)
//
//   t = transpose(p); w = while(tuple(t, …)), body: dynamic-slice(t, i)
//   → w = while(tuple(p, …)), body: transpose(dynamic-slice(p, i))
//
// The body recomputes it, back to values that take no memory (parameters) or
// little; if it only reads slices of it at one position in the first dimension,
// only those slices, of a dot as well that nothing else reads and whose
// operands take a quarter of its bytes:
//
//   d = dot(a, p); w = while(tuple(d, …)), body: dynamic-slice(d, i)
//   → w = while(tuple(a, p, …)), body: dot(dynamic-slice(a, i), p)
//
// Loop fusions that read dynamic slices of it compute it
// inside, where it takes no memory and only what is read is computed:
//
//   body: fusion(t, i) {dynamic-slice(t, i)}
//   → body: fusion(p, i) {dynamic-slice(transpose(p), i)}
struct LoopInvariant {
  HloInstruction* loop = nullptr;
  int64_t element = 0;
  int64_t bytes = 0;
  // Run time of the instructions added to the body, over all trips.
  double seconds = 0;
};

// All loop invariants that can be sunk, cheapest per byte first. Values below
// `min_bytes` are skipped. `seconds`: of one run of an instruction.
std::vector<LoopInvariant> FindLoopInvariants(
    const HloModule& module, int64_t min_bytes,
    absl::FunctionRef<double(const HloInstruction&)> seconds);

// The same, priced for a device. Errors: those of HloCostAnalysis.
absl::StatusOr<std::vector<LoopInvariant>> FindLoopInvariants(
    const HloModule& module, int64_t min_bytes,
    const HloCostAnalysis::Options& device);

// Sinks the given invariants, and updates the schedule.
absl::Status SinkLoopInvariants(absl::Span<const LoopInvariant> invariants,
                                HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_LOOPS_LOOP_SINKING_H_
