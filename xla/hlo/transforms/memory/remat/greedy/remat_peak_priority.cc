// kPeakPriority.

#include <algorithm>
#include <optional>

#include "absl/log/check.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_algorithm.h"
#include "xla/status_macros.h"

// The peak-first strategy: find the highest point (RematPeakIndex), jump the
// tracker there, take the cheapest blocks for that point until it is no longer
// the peak, and repeat. It stops at the first peak that cannot be lowered,
// since no other point matters then.

namespace xla {
namespace {

// Costs are relative to the limit; below this they would all be 0.
constexpr int64_t kLeastCostBasis = int64_t{1} << 30;

}  // namespace

// Block sizes double while nothing is found, and go back to 1 after each
// success.
absl::StatusOr<bool> RematAlgorithm::TakeAtPeak(Walk& walk, int64_t limit_bytes,
                                                int64_t callee_bytes) {
  RematComputation& state = *walk.state;
  // Costs are relative to the limit of this visit.
  const int64_t cost_basis = std::max(kLeastCostBasis, limit_bytes);
  // Waiting for copies to the host is only known forwards.
  std::optional<RematCandidates> with_host;
  RematCandidateSource* candidates;
  if (policy_.host_offload) {
    candidates = &with_host.emplace(&state, cost_basis, /*count_effort=*/false);
  } else {
    if (!walk.candidates.has_value() || walk.cost_basis != cost_basis) {
      walk.candidates.emplace(&state, cost_basis);
      walk.cost_basis = cost_basis;
    }
    candidates = &*walk.candidates;
  }
  bool changed = false;
  int32_t max_size = 1;
  while (state.tracker().memory_usage() + callee_bytes >= state.peak_bytes &&
         !GaveUp()) {
    const std::optional<RematCandidate> best = candidates->Best(1, max_size);
    if (best.has_value()) {
      TF_RETURN_IF_ERROR(Apply(state, *candidates, *best));
      changed = true;
      max_size = 1;
    } else if (2 * max_size <= limits_.block_size_limit) {
      max_size *= 2;
    } else {
      break;
    }
  }
  return changed;
}

absl::StatusOr<bool> RematAlgorithm::LowerPeak(Walk& walk, RematItemId at,
                                               int64_t limit_bytes, int depth) {
  RematComputation& state = *walk.state;
  RematMemoryTracker& tracker = state.tracker();
  const HloInstruction* inst = state.instruction(at);
  const bool runs = state.buffers().item(at).runs_computations;
  const int64_t callee_bytes = runs ? CalleeBytes(*inst) : 0;
  tracker.JumpTo({at, /*in_progress=*/true}, state.peak_bytes - callee_bytes);
  DCHECK_EQ(tracker.memory_usage(), tracker.CountLiveBytes());
  TF_ASSIGN_OR_RETURN(bool changed,
                      TakeAtPeak(walk, limit_bytes, callee_bytes));
  if (changed || callee_bytes == 0 || depth >= kMaxDepth) return changed;
  const int64_t left =
      std::max<int64_t>(0, limit_bytes - tracker.memory_usage());
  for (HloComputation* callee : inst->called_computations()) {
    if (PeakOf(callee) <= left) continue;
    walk.callees_changed = true;
    TF_ASSIGN_OR_RETURN(const bool inside,
                        PeakPriority(callee, left, depth + 1));
    changed |= inside;
  }
  return changed;
}

absl::StatusOr<bool> RematAlgorithm::PeakPriority(HloComputation* computation,
                                                  int64_t limit_bytes,
                                                  int depth) {
  Walk& walk = WalkOf(computation);
  RematComputation& state = *walk.state;
  const auto inside = [this](const HloInstruction& inst) {
    return CalleeBytes(inst);
  };
  if (walk.heights.has_value()) {
    walk.heights->UpdateInside(inside);
  } else {
    walk.heights.emplace(&state, inside);
    for (RematItemId item = 0; item < state.buffers().item_count(); ++item) {
      if (state.instruction(item)->IsDead()) {
        state.MayBeUnread(state.instruction(item));
      }
    }
  }
  bool changed = false;
  RematItemId at = walk.heights->Highest(&state.peak_bytes);
  while (at != kNoRematItem && state.peak_bytes > limit_bytes && !GaveUp()) {
    const int64_t before = state.peak_bytes;
    TF_ASSIGN_OR_RETURN(const bool lowered,
                        LowerPeak(walk, at, limit_bytes, depth));
    if (!lowered) break;
    changed = true;
    state.tracker().End(at);
    state.DropUnread();
    if (walk.callees_changed) walk.heights->UpdateInside(inside);
    walk.callees_changed = false;
    at = walk.heights->Highest(&state.peak_bytes);
    if (before - state.peak_bytes < before / 100) slow_progress_ = true;
  }
  peaks_[computation] = {state.peak_bytes,
                         at == kNoRematItem ? nullptr : state.instruction(at)};
  walk.changed |= changed;
  return changed;
}

}  // namespace xla
