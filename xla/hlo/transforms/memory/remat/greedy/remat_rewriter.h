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
  // New instructions minus those that are no longer read.
  int64_t net_added = 0;
};

// Recomputes `size` consecutive placed instructions, the last one first, for
// the readers that are not placed yet:
//
//   x = f(a); y = g(x); ⟨here⟩; z = h(x)
//   x = f(a); y = g(x); ⟨here⟩; x.remat = f(a); z = h(x.remat)
//
// A clone is placed right before the earliest of its readers, later readers of
// its operands (which would otherwise live longer) and its control successors.
// Readers through get-tuple-elements and bitcasts follow: aliases that are not
// placed either move behind the clone; for others new ones are made, shared by
// all readers. Clones have their own fused computations and channel ids, and
// all control dependencies.
//
// An original that nothing reads any more has been moved; an instruction that
// was made by a move and is moved again is denylisted, so that the walk ends.
// Links of asynchronous chains that have not been read are moved later
// themselves. O(readers, their lists).
absl::StatusOr<RematChange> Recompute(RematComputation& state,
                                      RematItemId first, int32_t size);

// Keeps a value in a compact form until the readers that are not placed:
//
//   x = …; c = copy(x) [compact]; y = g(x); ⟨here⟩; u = copy(c); z = h(u)
absl::StatusOr<RematChange> Compress(RematComputation& state, RematItemId item);

// Bytes freed at the current point by keeping the value compact; 0 if that is
// not possible: it must be a single live array, smaller in its compact form,
// and both forms together must be below the computation's peak.
int64_t BytesFreedByCompression(RematComputation& state, RematItemId item);

// Redirects the readers of `item` that are not placed to `value`, a new
// instruction of the same shape that is not yet in the list, and places it
// before them. Returns its item.
struct RedirectOptions {
  // Other instructions that it must precede, and readers of its operands.
  bool heed_operand_readers = true;
};
absl::StatusOr<RematItemId> RedirectUnplacedReaders(
    RematComputation& state, RematItemId item, HloInstruction* value,
    const RedirectOptions& options, int64_t* aliases_added);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_REWRITER_H_
