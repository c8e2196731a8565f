#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_ALGORITHM_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_ALGORITHM_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_candidates.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_candidates.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_peak_index.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_rewriter.h"

namespace xla {

struct RematSearchLimits {
  // Maximum number of instructions in a block.
  int32_t block_size_limit = 1;
  // kAlwaysRemat gives up on blocks of several instructions at a point after
  // this many times the work that single ones took there.
  double block_effort_factor = 1;
  // Both give up, keeping what they have, after redirecting this many
  // instructions to other values. Without it, picks with many readers, such as
  // the zeros of a chain of rectifiers, take quadratic time.
  int64_t max_uses_rewritten = std::numeric_limits<int64_t>::max();
};

// The two greedy algorithms of OpenXLA's rematerialization, on a computation
// and, where that is not enough, on those it calls.
//
// AlwaysRemat walks through the schedule once. Where more is live than the
// limit, it takes the best block (RematCandidates), first among single
// instructions, then among blocks of 2, 3–4, 5–8 … until enough is freed or
// nothing is left to take; if that is not enough and the instruction runs
// computations, these are walked through, each once in all, with what is left.
//
// PeakPriority goes to the instruction with the highest peak, takes blocks
// there (of 1, then 1–2, 1–4, … up to the block size limit) until the peak
// there is lower than before, measures again, and so on until the limit holds
// or nothing changes. Clones are not cloned again, and a value that several
// instructions of a block would read again counts once for each. Better if few
// instructions cause the peak.
//
// AlwaysRemat is O(n + steps over the limit + Σ over picks of (operands and
// readers touched) log n), where a full search for each pick would be O(picks ·
// n). PeakPriority is O(n log² n + Σ over sub-passes of (√n + touched (log² n +
// √n))), however far the peaks lie apart: heights (RematPeakIndex) and
// candidates (RematPeakCandidates) are known at all points. With host offload
// it searches all instructions before a peak anew.
// All changes of the module go through the policy's edits: they can be undone
// until Commit is called.
class RematAlgorithm {
 public:
  // Calls nested deeper than this are left alone.
  static constexpr int kMaxDepth = 100;

  using Peaks =
      absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>;

  // Peaks of all computations that count, as measured before, and the data
  // built for that.
  RematAlgorithm(RematPolicy* policy, const RematSearchLimits& limits,
                 Peaks peaks, RematBuffersByComputation buffers)
      : policy_(*policy),
        limits_(limits),
        peaks_(std::move(peaks)),
        buffers_(std::move(buffers)) {}

  // Return whether anything was rewritten.
  absl::StatusOr<bool> AlwaysRemat(HloComputation* computation,
                                   int64_t limit_bytes, int depth = 0);
  absl::StatusOr<bool> PeakPriority(HloComputation* computation,
                                    int64_t limit_bytes, int depth = 0);

  // The peak of a computation, callees included, after the rewrites so far, as
  // the walks saw it.
  int64_t PeakOf(const HloComputation* computation) const {
    auto it = peaks_.find(computation);
    return it == peaks_.end() ? 0 : it->second.bytes;
  }

  // Removes what is no longer read, and updates the module's schedule.
  void Commit(HloModule* module);
  // Peaks after the commit, recounted rather than as the walks saw them.
  // Callees come first; only those that have been measured before count. Wrong
  // if the module has been changed by others since.
  const Peaks& MeasureAgain(const std::vector<HloComputation*>& computations);

  int64_t rematerialized() const { return rematerialized_; }
  int64_t net_added() const { return net_added_; }
  int32_t largest_block() const { return largest_block_; }
  // Whether some sub-pass of PeakPriority lowered the peak by less than 1 %.
  bool slow_progress() const { return slow_progress_; }

 private:
  // A computation that has been walked through, and the state kept from one
  // visit to the next.
  struct Walk {
    std::unique_ptr<RematComputation> state;
    bool changed = false;
    // Used by PeakPriority only.
    std::optional<RematPeakIndex> heights;
    std::optional<RematPeakCandidates> candidates;
    int64_t cost_basis = 0;  // of the candidates, in bytes
    bool callees_changed = false;
  };

  Walk& WalkOf(HloComputation* computation);
  bool GaveUp() const { return uses_rewritten_ > limits_.max_uses_rewritten; }
  // Bytes of the computations that an instruction runs.
  int64_t CalleeBytes(const HloInstruction& inst) const;
  // Blocks that turn out to free nothing are put on a denylist.
  absl::Status Apply(RematComputation& state, RematCandidateSource& candidates,
                     const RematCandidate& candidate);
  // Takes blocks at the current point until no more than the limit is live.
  absl::StatusOr<bool> ReduceHere(RematComputation& state,
                                  RematCandidates& candidates,
                                  int64_t limit_bytes, int64_t callee_bytes);
  // One round of PeakPriority; false if nothing changed.
  absl::StatusOr<bool> LowerPeak(Walk& walk, RematItemId at,
                                 int64_t limit_bytes, int depth);
  // Takes blocks at the current point until less is live than before.
  absl::StatusOr<bool> TakeAtPeak(Walk& walk, int64_t limit_bytes,
                                  int64_t callee_bytes);
  // Walks through the computation once more.
  RematPeak::OfComputation MeasurePeak(RematComputation& state) const;

  RematPolicy& policy_;
  const RematSearchLimits limits_;
  Peaks peaks_;
  // Buffers of computations that have not been walked yet.
  RematBuffersByComputation buffers_;
  absl::flat_hash_map<const HloComputation*, std::unique_ptr<Walk>> walks_;
  int64_t rematerialized_ = 0;
  int64_t net_added_ = 0;
  int64_t uses_rewritten_ = 0;
  int32_t largest_block_ = 0;
  bool slow_progress_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_ALGORITHM_H_
