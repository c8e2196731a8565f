#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_SEARCH_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_SEARCH_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

struct RematSearchOptions {
  int64_t limit_bytes = 0;
  // 0: one variant; 1: more where the first one does not meet the limit; more:
  // all variants.
  int64_t effort = 1;
  // Steps may come earlier than in `start` (remat_eager.h).
  bool reorder = true;
  // Reduced by what the search looks at; at 0 it ends with what it has. Null:
  // unlimited.
  int64_t* work = nullptr;
  // Programs of at least this cost are useless: gives up if no others can be
  // expected.
  double useless_seconds = std::numeric_limits<double>::infinity();
  // If more than the limit: what the program may need in the end. Runs that
  // this leaves room for are removed, too.
  int64_t room_bytes = 0;
  // Programs of the same nodes, for example for other limits: tried as they are
  // where they fit, with more drops where they do not. They do not end any
  // other part of the search. Those that are not valid here (TraceProgram) are
  // skipped.
  absl::Span<const std::vector<NodeId>> known;
};

struct RematProgram {
  std::vector<NodeId> steps;
  int64_t peak_bytes = 0;
  double seconds = 0;
};

// A program with a peak of at most the limit at little cost or, if none is
// found, one with the lowest peak found; `start` if that meets the limit.
// Limits below LowerBoundBytes() are raised to that.
//
// A value is dropped between two readers and recomputed before the second one,
// from what is live there, from what is kept longer for it, and from what is
// recomputed for it in turn; a run that serves later readers may be moved
// earlier instead. The price of a choice is seconds per byte and step over the
// limit that it frees. Cheapest first, from a heap whose entries are repriced
// when they come up (prices only rise); at the end, runs that the limit has
// room for are removed again, the most seconds per byte first.
//
// The bytes kept before one step for later ones are bounded (segments as in
// Chen et al., "Training deep nets with sublinear memory cost", 2016); the
// bounds are the variants that are tried. Interval view of the problem: Bartan
// et al., "MOCCASIN", 2023; price: Kirisame et al., "Dynamic tensor
// rematerialization", 2021. Where one choice at a time gets stuck, programs
// that evict and recompute on demand (remat_evict.h) are tried and improved,
// and small problems are solved exactly (remat_exact.h). All of it is done
// first from the start in an eager order (remat_eager.h), then from the start
// itself. At the end a quarter of the repeated runs is removed at a time, and
// other drops are chosen for the resulting excess (iterated greedy: Ruiz and
// Stützle, 2007).
//
// Near-linear: O(log n) for each choice and each reader looked at.
absl::StatusOr<RematProgram> SearchProgram(const RematProblem& problem,
                                           absl::Span<const NodeId> start,
                                           const RematSearchOptions& options);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_SEARCH_H_
