#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_CHECKPOINTS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_CHECKPOINTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// The program with the part before its peak cut into segments: of each, only
// what later segments read is kept for the part after the peak; the rest runs
// once more, all at once, before the first step there that reads any of it.
//
//   a b c d | D C B A   (D reads d and c, C reads c and b, B reads b and a)
//   → a b c d | c d D C a B A   with segments {a, b} and {c, d}; b stays for c
//
// Segments end where they hold about `segment_bytes` that would be freed, at
// the nearby place crossed by the fewest bytes. As in Chen et al., "Training
// deep nets with sublinear memory cost", 2016, for any graph. `start` runs no
// node twice. Linear in steps and their reads.
std::vector<NodeId> CheckpointedProgram(const RematProblem& problem,
                                        const RematTrace& start,
                                        int64_t segment_bytes);

// Bytes that CheckpointedProgram() can free.
int64_t BytesBeforePeak(const RematProblem& problem, const RematTrace& start);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_CHECKPOINTS_H_
