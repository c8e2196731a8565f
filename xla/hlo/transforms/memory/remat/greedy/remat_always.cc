// kAlwaysRemat, and what both algorithms share.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "xla/hlo/transforms/memory/remat/greedy/remat_algorithm.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_offload.h"
#include "xla/status_macros.h"

// The forward strategy: walk the schedule once, and wherever memory is over the
// limit, take blocks until it is not (ReduceHere) or nothing is left to take.
// Callees are visited at the instruction that runs them, with what the limit
// leaves there.

namespace xla {

RematAlgorithm::Walk& RematAlgorithm::WalkOf(HloComputation* computation) {
  std::unique_ptr<Walk>& walk = walks_[computation];
  if (walk == nullptr) {
    walk = std::make_unique<Walk>();
    auto it = buffers_.find(computation);
    walk->state = std::make_unique<RematComputation>(
        computation, std::move(it->second), &policy_);
    buffers_.erase(it);
  }
  return *walk;
}

int64_t RematAlgorithm::CalleeBytes(const HloInstruction& inst) const {
  int64_t bytes = 0;
  for (const HloComputation* callee : inst.called_computations()) {
    bytes += PeakOf(callee);
  }
  return bytes;
}

// A candidate that did not lower memory is denylisted, so that the loop above
// cannot choose it for ever.
absl::Status RematAlgorithm::Apply(RematComputation& state,
                                   RematCandidateSource& candidates,
                                   const RematCandidate& candidate) {
  const int64_t before = state.tracker().memory_usage();
  const int64_t uses_before = state.tracker().uses_added();
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
  uses_rewritten_ += state.tracker().uses_added() - uses_before;
  rematerialized_ += change.rematerialized;
  net_added_ += change.net_added;
  largest_block_ = std::max(largest_block_, candidate.size);
  if (state.tracker().memory_usage() >= before) {
    state.Denylist(candidate.first);
    candidates.Invalidate(candidate.first);
  }
  return absl::OkStatus();
}

// Single instructions first. Only if none of them helps are blocks of 2, then
// 4, ... consecutive instructions tried, as long as the effort spent on blocks
// stays within a factor of that spent on single ones. After each success the
// search starts over with single instructions.
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
  while (state.tracker().memory_usage() + callee_bytes > limit_bytes &&
         !GaveUp()) {
    if (limits_.block_size_limit > 1) {
      (singles ? effort_of_singles : effort_of_blocks) +=
          candidates.EffortOf(min_size, max_size);
    }
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
  Walk& walk = WalkOf(computation);
  RematComputation& state = *walk.state;
  state.peak_bytes = PeakOf(computation);
  RematMemoryTracker& tracker = state.tracker();
  std::optional<RematCandidates> candidates;
  bool callees_changed = false;
  RematPeak::OfComputation peak;
  for (RematItemId item = state.list().first(); item != kNoRematItem;
       item = state.list().next(item)) {
    const bool runs = state.buffers().item(item).runs_computations;
    int64_t callee_bytes = runs ? CalleeBytes(*state.instruction(item)) : 0;
    tracker.Begin(item);
    if (tracker.memory_usage() + callee_bytes > limit_bytes && !GaveUp()) {
      if (!candidates.has_value()) {
        candidates.emplace(&state, limit_bytes, limits_.block_size_limit > 1);
      }
      TF_ASSIGN_OR_RETURN(
          const bool here,
          ReduceHere(state, *candidates, limit_bytes, callee_bytes));
      walk.changed |= here;
    }
    if (callee_bytes > 0 && depth < kMaxDepth &&
        tracker.memory_usage() + callee_bytes > limit_bytes) {
      const HloInstruction* inst = state.instruction(item);
      for (HloComputation* callee : inst->called_computations()) {
        if (!peaks_.contains(callee) || walks_.contains(callee)) continue;
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
      peak = {tracker.memory_usage() + callee_bytes, state.instruction(item)};
    }
    tracker.End(item);
  }
  state.DropUnread();
  peaks_[computation] = peak;
  return walk.changed || callees_changed;
}

void RematAlgorithm::Commit(HloModule* module) {
  policy_.edits.Commit(module);
  for (const auto& [computation, walk] : walks_) {
    if (!walk->changed || computation->IsDeadComputation()) continue;
    module->schedule().set_sequence(computation, walk->state->ToSequence());
  }
}

RematPeak::OfComputation RematAlgorithm::MeasurePeak(
    RematComputation& state) const {
  RematMemoryTracker& tracker = state.tracker();
  tracker.RecordEvents(false);
  tracker.Restart();
  RematPeak::OfComputation peak;
  RematItemId at = kNoRematItem;
  for (RematItemId item = state.list().first(); item != kNoRematItem;
       item = state.list().next(item)) {
    tracker.Begin(item);
    int64_t bytes = tracker.memory_usage();
    if (state.buffers().item(item).runs_computations) {
      bytes += CalleeBytes(*state.instruction(item));
    }
    if (bytes > peak.bytes) {
      peak.bytes = bytes;
      at = item;
    }
    tracker.End(item);
  }
  if (at != kNoRematItem) peak.at = state.instruction(at);
  return peak;
}

const RematAlgorithm::Peaks& RematAlgorithm::MeasureAgain(
    const std::vector<HloComputation*>& computations) {
  for (const HloComputation* computation : computations) {
    if (auto walk = walks_.find(computation); walk != walks_.end()) {
      peaks_[computation] = MeasurePeak(*walk->second->state);
    } else if (auto it = buffers_.find(computation); it != buffers_.end()) {
      peaks_[computation] = ComputeRematPeakOfComputation(it->second, peaks_);
    }
  }
  return peaks_;
}

}  // namespace xla
