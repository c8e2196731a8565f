#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_OFFLOAD_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_OFFLOAD_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"

namespace xla {

// A value spends the time between two reads in host memory.
//
//   x = …; …; y = f(x); …            …             …; z = g(x)
//   x = …; s = copy-start(x); …; y = f(x); d = copy-done(s); …;
//                        b = copy-start(d); …; e = copy-done(b); z = g(e)
//
// A copy takes bytes / rate seconds, in which other instructions run, whose
// seconds are those of HloCostAnalysis; instructions that this pass has added
// take none. The copy to the host begins with the value and must have ended at
// the current point; the copy back begins after that point, as late as it can,
// and ends right before the first read. For single arrays that nothing reads
// through another instruction.

// Bytes of device memory freed at the current point; 0 if the copies do not
// fit. If they may fit later, `ready_seconds` is set to the time when the copy
// to the host can have ended, otherwise to -1. O(readers).
int64_t BytesFreedByOffload(RematComputation& state, RematItemId item,
                            double* ready_seconds);

absl::StatusOr<RematChange> OffloadToHost(RematComputation& state,
                                          RematItemId item);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_OFFLOAD_H_
