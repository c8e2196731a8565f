#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The computations whose values need memory: global ones, which the entry
// reaches by calls, whiles, conditionals and asynchronous calls, and thread
// local ones, which run many times at once (of reduces, maps, sorts, …). Those
// of fusions need none. Callees come before callers. FailedPrecondition for a
// computation that is both.
absl::Status GatherComputationsByAllocationType(
    const HloModule* module,
    std::vector<const HloComputation*>* thread_local_computations,
    std::vector<const HloComputation*>* global_computations);

// Plans the memory of a module.
//
//   p = parameter(0); a = negate(p); b = reverse(a); ROOT c = add(b, b)
//   → allocation 0: p; allocation 1: c, and b before it; allocation 2 (temp): a
//
// Allocations of their own: entry parameters, constants (if asked for), tables
// of tuples, values of thread-local computations, and results of the module
// (together with operands of the same size that they can be written over).
// All else of one colour goes into one temporary allocation, packed by the
// offset planner over the live ranges of the schedule, where outputs share the
// memory of operands that end as HeapSimulator says.
//
// Without a schedule for the global computations, every buffer has an
// allocation of its own. The module needs a flattened call graph.
class BufferAssigner {
 public:
  using Colorer =
      std::function<absl::Status(HloAliasAnalysis*, const HloOrdering&)>;

  struct Options {
    // Whether constants are put into memory.
    bool allocate_buffers_for_constants = false;
    // Sets colours of values; else they are the memory spaces of layouts.
    Colorer colorer;
  };

  // `buffer_size` in bytes; offsets in an allocation of a colour are multiples
  // of `color_alignment` of it (a power of two, bytes). `alias_info` may be
  // null (defaults). Errors of the analyses; FailedPrecondition for a buffer
  // with values of several colours.
  static absl::StatusOr<std::unique_ptr<BufferAssignment>> Run(
      const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
      BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info,
      BufferValue::AlignmentFunction color_alignment, Options opts);
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_
