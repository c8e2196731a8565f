#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NEEDLESS_COPIES_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NEEDLESS_COPIES_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// Lets the readers of copies in a scheduled module that a backend has finished
// (overwritten_values.h) read what is copied, wherever it is still there: the
// backend does so with every module before it assigns memory, and a plan that
// is counted with such copies would not be the one that runs.
//
//   x = param(0); c = copy(x); y = f(c); u = g(x), in x's memory
//   → y = f(x); u = g(x)
//
// Kept are copies that change the layout, that a loop, a branch or a caller
// gets, and those with a reader that comes after, or is, an instruction that
// writes where the original is. As the order and the other instructions stay,
// no array is live for longer than it and its copy were. Computations of
// `execution_threads` (empty: all). Returns whether any was dropped; errors of
// HloAliasAnalysis. Near-linear, a few times, and the product of the copies of
// a buffer with its values.
absl::StatusOr<bool> DropNeedlessCopies(
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    HloModule* module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_NEEDLESS_COPIES_H_
