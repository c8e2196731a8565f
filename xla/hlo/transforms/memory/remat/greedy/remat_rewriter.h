#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_REWRITER_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_REWRITER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"

namespace xla {

struct RematChange {
  // Instructions recomputed (or moved, compressed, offloaded).
  int64_t rematerialized = 0;
  // New ones less those that are not read any more.
  int64_t net_added = 0;
};

// Makes `size` placed instructions in a row again, the last one first, for the
// readers that are not placed yet:
//
//   x = f(a); y = g(x); ⟨here⟩; z = h(x)
//   x = f(a); y = g(x); ⟨here⟩; x.remat = f(a); z = h(x.remat)
//
// A clone comes right before the earliest of its readers, later readers of its
// operands (which would live longer otherwise) and its control successors.
// Readers through get-tuple-elements and bitcasts follow: those aliases that
// are not placed either move behind the clone, for others there are new ones,
// shared by all readers. Clones have their own fused computations and channel
// ids, and all control dependencies.
//
// An original that nothing reads any more was moved; what was made by a move
// and is moved again is denylisted, so that the walk ends. Links of
// asynchronous chains, which nothing has read, come later themselves.
// O(readers, their lists).
absl::StatusOr<RematChange> Recompute(RematComputation& state,
                                      RematItemId first, int32_t size);

// Keeps a value in a compact form until the readers that are not placed:
//
//   x = …; c = copy(x) [compact]; y = g(x); ⟨here⟩; u = copy(c); z = h(u)
absl::StatusOr<RematChange> Compress(RematComputation& state, RematItemId item);

// Bytes that leave memory at the point reached if the value is kept compact; 0
// if that is not possible: one array, live, smaller in its compact form, and
// both forms together below the computation's peak.
int64_t BytesFreedByCompression(RematComputation& state, RematItemId item);

// Lets the readers of `item` that are not placed read `value`, an instruction
// of the same shape that is new and not yet in the list, and puts it before
// them. Returns its item.
struct RedirectOptions {
  // Other instructions that it must precede, and readers of its operands.
  bool heed_operand_readers = true;
};
absl::StatusOr<RematItemId> RedirectUnplacedReaders(
    RematComputation& state, RematItemId item, HloInstruction* value,
    const RedirectOptions& options, int64_t* aliases_added);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_REWRITER_H_
