#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_ALGORITHM_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_ALGORITHM_H_

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_accounting.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_candidates.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_computation.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_rewriter.h"

namespace xla {

struct RematSearchLimits {
  // Instructions in a block, at most.
  int32_t block_size_limit = 1;
  // kAlwaysRemat gives up on blocks of several instructions at a point after
  // this many times the work that single ones took there.
  double block_effort_factor = 1;
};

// The two greedy algorithms of OpenXLA's rematerialization, on a computation
// and, where that is not enough, on those it calls.
//
// AlwaysRemat walks through the schedule once. Where more is live than the
// limit, it takes the best block (RematCandidates), first among single
// instructions, then among blocks of 2, 3–4, 5–8 … until enough has gone or
// nothing is left to take; and if that is not enough and the instruction runs
// computations, these are walked through, each once in all, with what is left.
//
// PeakPriority goes to the instruction with the highest peak, takes blocks
// there (1, then 1–2, 1–4, …) until it is below what it was, measures again,
// and so on until the limit holds or nothing changes. Clones are not cloned
// again. More costly; better where few instructions make the peak.
//
// One pick costs O((operands + readers touched) log n) amortized instead of
// O(n); AlwaysRemat is O(n + picks · (touched log n)), PeakPriority
// O(sub-passes · n).
class RematAlgorithm {
 public:
  // Calls nested deeper than this are left alone.
  static constexpr int kMaxDepth = 100;

  // Peaks of all computations that count, as measured before.
  RematAlgorithm(
      RematPolicy* policy, HloSchedule* schedule,
      const RematSearchLimits& limits,
      absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>
          peaks)
      : policy_(*policy),
        schedule_(*schedule),
        limits_(limits),
        peaks_(std::move(peaks)) {}

  // Return whether anything was rewritten. The schedule follows.
  absl::StatusOr<bool> AlwaysRemat(HloComputation* computation,
                                   int64_t limit_bytes, int depth = 0);
  absl::StatusOr<bool> PeakPriority(HloComputation* computation,
                                    int64_t limit_bytes, int depth = 0);

  // Of a computation with its callees, after what was done so far; as the
  // walks saw it.
  int64_t PeakOf(const HloComputation* computation) const {
    auto it = peaks_.find(computation);
    return it == peaks_.end() ? 0 : it->second.bytes;
  }

  int64_t rematerialized() const { return rematerialized_; }
  int64_t net_added() const { return net_added_; }
  int32_t largest_block() const { return largest_block_; }
  // Some sub-pass of PeakPriority lowered the peak by less than 1 %.
  bool slow_progress() const { return slow_progress_; }

 private:
  // Bytes of what an instruction runs.
  int64_t CalleeBytes(const HloInstruction& inst) const;
  // What frees nothing after all is denylisted.
  absl::Status Apply(RematComputation& state, RematCandidates& candidates,
                     const RematCandidate& candidate);
  // Takes blocks at the point reached until no more than the limit is live.
  absl::StatusOr<bool> ReduceHere(RematComputation& state,
                                  RematCandidates& candidates,
                                  int64_t limit_bytes, int64_t callee_bytes);
  // One round of PeakPriority; nothing changed: false.
  absl::StatusOr<bool> LowerPeak(RematComputation& state, RematItemId at,
                                 int64_t peak_bytes, int64_t limit_bytes,
                                 int depth);
  // Removes what nobody reads any more.
  absl::Status DropDead(RematComputation& state);
  // Sets the state's peak; the item that has it.
  RematItemId MeasurePeak(RematComputation& state) const;

  RematPolicy& policy_;
  HloSchedule& schedule_;
  const RematSearchLimits limits_;
  absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation> peaks_;
  absl::flat_hash_set<const HloComputation*> walked_;
  int64_t rematerialized_ = 0;
  int64_t net_added_ = 0;
  int32_t largest_block_ = 0;
  bool slow_progress_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMATERIALIZATION_REMAT_ALGORITHM_H_
