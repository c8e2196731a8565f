// kAlwaysRemat, and what both algorithms share.

#include <algorithm>
#include <memory>
#include <optional>

#include "xla/hlo/transforms/memory/rematerialization/remat_algorithm.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_offload.h"
#include "xla/status_macros.h"

namespace xla {

int64_t RematAlgorithm::CalleeBytes(const HloInstruction& inst) const {
  if (!RunsComputations(inst)) return 0;
  int64_t bytes = 0;
  for (const HloComputation* callee : inst.called_computations()) {
    bytes += PeakOf(callee);
  }
  return bytes;
}

absl::Status RematAlgorithm::Apply(RematComputation& state,
                                   RematCandidates& candidates,
                                   const RematCandidate& candidate) {
  const int64_t before = state.tracker().memory_usage();
  RematChange change;
  switch (candidate.strategy) {
    case RematStrategy::kRecompute: {
      TF_ASSIGN_OR_RETURN(change,
                          Recompute(state, candidate.first, candidate.size));
      break;
    }
    case RematStrategy::kCompress: {
      TF_ASSIGN_OR_RETURN(change, Compress(state, candidate.first));
      break;
    }
    case RematStrategy::kHostOffload: {
      TF_ASSIGN_OR_RETURN(change, OffloadToHost(state, candidate.first));
      break;
    }
  }
  rematerialized_ += change.rematerialized;
  net_added_ += change.net_added;
  largest_block_ = std::max(largest_block_, candidate.size);
  if (state.tracker().memory_usage() >= before) {
    state.Denylist(candidate.first);
    candidates.Invalidate(candidate.first);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RematAlgorithm::ReduceHere(RematComputation& state,
                                                RematCandidates& candidates,
                                                int64_t limit_bytes,
                                                int64_t callee_bytes) {
  bool changed = false;
  bool singles = true;
  int64_t effort_of_singles = 0;
  int64_t effort_of_blocks = 0;
  int32_t min_size = 1;
  int32_t max_size = 1;
  while (state.tracker().memory_usage() + callee_bytes > limit_bytes) {
    (singles ? effort_of_singles : effort_of_blocks) +=
        candidates.EffortOf(min_size, max_size);
    const std::optional<RematCandidate> best =
        candidates.Best(min_size, max_size);
    if (best.has_value()) {
      TF_RETURN_IF_ERROR(Apply(state, candidates, *best));
      changed = true;
      min_size = max_size = 1;
      continue;
    }
    singles = false;
    if (max_size >= limits_.block_size_limit ||
        static_cast<double>(effort_of_blocks) >
            limits_.block_effort_factor *
                static_cast<double>(effort_of_singles)) {
      break;
    }
    min_size = max_size + 1;
    max_size = std::min(2 * max_size, limits_.block_size_limit);
  }
  return changed;
}

absl::StatusOr<bool> RematAlgorithm::AlwaysRemat(HloComputation* computation,
                                                 int64_t limit_bytes,
                                                 int depth) {
  walked_.insert(computation);
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<RematComputation> state,
      RematComputation::Create(computation, schedule_.sequence(computation),
                               &policy_));
  state->peak_bytes = PeakOf(computation);
  RematMemoryTracker& tracker = state->tracker();
  std::optional<RematCandidates> candidates;
  bool changed = false;
  bool callees_changed = false;
  RematPeak::OfComputation peak;
  for (RematItemId item = state->list().first(); item != kNoRematItem;
       item = state->list().next(item)) {
    const HloInstruction* inst = state->instruction(item);
    int64_t callee_bytes = CalleeBytes(*inst);
    tracker.Begin(item);
    if (tracker.memory_usage() + callee_bytes > limit_bytes) {
      if (!candidates.has_value()) candidates.emplace(&*state, limit_bytes);
      TF_ASSIGN_OR_RETURN(
          const bool here,
          ReduceHere(*state, *candidates, limit_bytes, callee_bytes));
      changed |= here;
    }
    if (callee_bytes > 0 && depth < kMaxDepth &&
        tracker.memory_usage() + callee_bytes > limit_bytes) {
      for (HloComputation* callee : inst->called_computations()) {
        if (!peaks_.contains(callee) || walked_.contains(callee)) continue;
        TF_ASSIGN_OR_RETURN(
            const bool inside,
            AlwaysRemat(
                callee,
                std::max<int64_t>(0, limit_bytes - tracker.memory_usage()),
                depth + 1));
        callees_changed |= inside;
      }
      callee_bytes = CalleeBytes(*inst);
    }
    if (tracker.memory_usage() + callee_bytes > peak.bytes) {
      peak = {tracker.memory_usage() + callee_bytes, inst};
    }
    tracker.End(item);
  }
  peaks_[computation] = peak;
  if (changed) schedule_.set_sequence(computation, state->ToSequence());
  return changed || callees_changed;
}

}  // namespace xla
