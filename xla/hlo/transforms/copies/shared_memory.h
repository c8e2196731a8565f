#ifndef XLA_HLO_TRANSFORMS_COPIES_SHARED_MEMORY_H_
#define XLA_HLO_TRANSFORMS_COPIES_SHARED_MEMORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace xla {

// For tests of copy insertion; neither shares code with it.

// Whether values of one buffer of the alias analysis may be live at the same
// time in the order of the module's schedule, as HloOrdering tells; whether a
// constant, or a parameter without an alias, shares its buffer; whether two
// results do. Internal, naming the values. O(values²) per buffer.
absl::Status CheckNoInterference(const HloModule& module,
                                 const AliasInfo& alias_info);

struct SharedMemoryOptions {
  // Asynchronous computations run where their chain is done, not where it
  // starts.
  bool run_late = false;
};

// Runs the module in the order of its schedule, with one piece of memory for
// each buffer of the alias analysis: a loop's state is passed by staying where
// it is, and reading a value that has been overwritten gives a wrong value.
// Internal if an instruction may not write where its operand is, or if
// constants or parameters without an alias have changed in the end.
absl::StatusOr<Literal> EvaluateInSharedMemory(
    const HloModule& module, absl::Span<const Literal> arguments,
    const AliasInfo& alias_info,
    const SharedMemoryOptions& options = SharedMemoryOptions());

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_SHARED_MEMORY_H_
