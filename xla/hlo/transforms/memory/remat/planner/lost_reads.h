#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_LOST_READS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_LOST_READS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::remat_plan {

// How many reads of a scheduled module find another value in place of the one
// they ask for: a value updated in place, or a loop's state, is read after it
// has changed. Compilers insert copies for them; a module that a backend has
// finished (overwritten_values.h) gets none any more, so a rewrite must not add
// such reads.
//
//   x = param(0); u = dynamic-update-slice(x, v, i); x.remat = negate(x)
//   → 1
//
// So is an operand of a fusion that writes a result in its place, the state of
// a loop or an argument's memory, where a kernel does not read each element
// before it writes it (gpu_alias_info.h).
//
//   x = param(0); ROOT f = fusion(x), in x's memory: copy(x) + reverse(x) → 1
//
// Runs the module on labeled memory (memory_replay.h); linear in what runs,
// times a logarithm. Errors of BufferAssigner.
absl::StatusOr<int64_t> CountLostReads(const HloModule& module);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_PLANNER_LOST_READS_H_
