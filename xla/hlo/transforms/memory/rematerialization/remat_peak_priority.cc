// kPeakPriority.

#include <algorithm>
#include <memory>
#include <optional>

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/memory/rematerialization/remat_algorithm.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Costs are relative to the limit; below this they would all be 0.
constexpr int64_t kLeastCostBasis = int64_t{1} << 30;

}  // namespace

RematItemId RematAlgorithm::MeasurePeak(RematComputation& state) const {
  RematMemoryTracker& tracker = state.tracker();
  tracker.RecordEvents(false);
  tracker.Restart();
  RematItemId at = kNoRematItem;
  state.peak_bytes = 0;
  for (RematItemId item = state.list().first(); item != kNoRematItem;
       item = state.list().next(item)) {
    tracker.Begin(item);
    const int64_t bytes =
        tracker.memory_usage() + CalleeBytes(*state.instruction(item));
    if (bytes > state.peak_bytes) {
      state.peak_bytes = bytes;
      at = item;
    }
    tracker.End(item);
  }
  return at;
}

absl::Status RematAlgorithm::DropDead(RematComputation& state) {
  state.tracker().Restart();
  RematItemId prev = kNoRematItem;
  for (RematItemId item = state.list().last(); item != kNoRematItem;
       item = prev) {
    prev = state.list().prev(item);
    HloInstruction* inst = state.instruction(item);
    if (!inst->IsDead() || inst->opcode() == HloOpcode::kParameter ||
        inst->HasControlDependencies() || inst->HasSideEffect()) {
      continue;
    }
    state.tracker().DropUses(item);
    state.list().Remove(item);
    TF_RETURN_IF_ERROR(state.computation()->RemoveInstruction(inst));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RematAlgorithm::LowerPeak(RematComputation& state,
                                               RematItemId at,
                                               int64_t peak_bytes,
                                               int64_t limit_bytes, int depth) {
  RematMemoryTracker& tracker = state.tracker();
  tracker.Restart();
  for (RematItemId item = state.list().first(); item != at;
       item = state.list().next(item)) {
    tracker.Begin(item);
    tracker.End(item);
  }
  tracker.Begin(at);
  const HloInstruction* inst = state.instruction(at);
  const int64_t callee_bytes = CalleeBytes(*inst);
  RematCandidates candidates(&state, std::max(kLeastCostBasis, limit_bytes));
  bool changed = false;
  int32_t max_size = 1;
  while (tracker.memory_usage() + callee_bytes >= peak_bytes) {
    const std::optional<RematCandidate> best = candidates.Best(1, max_size);
    if (best.has_value()) {
      TF_RETURN_IF_ERROR(Apply(state, candidates, *best));
      changed = true;
      max_size = 1;
    } else if (2 * max_size <= limits_.block_size_limit) {
      max_size *= 2;
    } else {
      break;
    }
  }
  if (changed || callee_bytes == 0 || depth >= kMaxDepth) return changed;
  const int64_t left =
      std::max<int64_t>(0, limit_bytes - tracker.memory_usage());
  for (HloComputation* callee : inst->called_computations()) {
    if (PeakOf(callee) <= left) continue;
    TF_ASSIGN_OR_RETURN(const bool inside,
                        PeakPriority(callee, left, depth + 1));
    changed |= inside;
  }
  return changed;
}

absl::StatusOr<bool> RematAlgorithm::PeakPriority(HloComputation* computation,
                                                  int64_t limit_bytes,
                                                  int depth) {
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<RematComputation> state,
      RematComputation::Create(computation, schedule_.sequence(computation),
                               &policy_));
  bool changed = false;
  RematItemId at = MeasurePeak(*state);
  while (at != kNoRematItem && state->peak_bytes > limit_bytes) {
    const int64_t before = state->peak_bytes;
    TF_ASSIGN_OR_RETURN(const bool lowered,
                        LowerPeak(*state, at, before, limit_bytes, depth));
    if (!lowered) break;
    changed = true;
    TF_RETURN_IF_ERROR(DropDead(*state));
    at = MeasurePeak(*state);
    if (before - state->peak_bytes < before / 100) slow_progress_ = true;
  }
  peaks_[computation] = {state->peak_bytes,
                         at == kNoRematItem ? nullptr : state->instruction(at)};
  if (changed) schedule_.set_sequence(computation, state->ToSequence());
  return changed;
}

}  // namespace xla
