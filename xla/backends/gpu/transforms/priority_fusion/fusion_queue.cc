#include "xla/backends/gpu/transforms/priority_fusion/fusion_queue.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/time/time.h"
#include "xla/hlo/utils/fusion_decision.h"

// Priorities are kept in integer picoseconds, so that sums of savings can be
// updated by adding and subtracting without drift and ties are broken the same
// way everywhere. A producer's priority is its own run time plus the sum of its
// consumers' savings. It is blocked as soon as one consumer cannot take it,
// since it would then have to stay a kernel anyway; blocked producers are
// re-examined only when that consumer changes.

namespace xla::gpu {
namespace {

// With more users than this, the queue does not look for the only one that can
// take the producer: every change to one user would query all of them again.
constexpr int64_t kMaxUsersOfResult = 16;

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();

int64_t Picoseconds(absl::Duration time) {
  return std::llround(absl::ToDoubleSeconds(time) * 1e12);
}

}  // namespace

void FusionQueue::Dequeue(Producer* state) {
  if (!state->queued) return;
  queue_.erase({state->priority, state->id});
  state->queued = false;
}

void FusionQueue::Enqueue(HloInstruction* producer, Producer* state) {
  Dequeue(state);
  if (state->blocker != nullptr || state->savings.empty()) return;
  state->priority = state->saved;
  if (state->bitcasts == 0) {
    state->priority += Picoseconds(times_.EstimateRunTime(*producer).time);
  }
  if (IsTransparentBitcast(*producer)) {
    state->priority = kInfinite;
  }
  if (state->priority < 0) return;
  queue_.emplace(Key{state->priority, state->id}, producer);
  state->queued = true;
}

bool FusionQueue::MayBeResult(const HloInstruction& producer) const {
  return order_ != nullptr && producer.user_count() <= kMaxUsersOfResult;
}

// A blocked producer may still be merged into a single consumer as an
// additional output, if exactly one consumer qualifies.
void FusionQueue::EnqueueAsResult(HloInstruction* producer, Producer* state) {
  state->only_consumer = nullptr;
  if (!MayBeResult(*producer)) return;
  HloInstruction* only = nullptr;
  for (HloInstruction* user : producer->users()) {
    if (!order_->CanMerge(*producer, *user) ||
        !rules_.CanFuseIntoMultiOutput(*producer, *user)) {
      continue;
    }
    // Which one of several is not said.
    if (only != nullptr) return;
    only = user;
  }
  if (only == nullptr) return;
  const absl::Duration apart = times_.EstimateRunTime(*producer).time +
                               times_.EstimateRunTime(*only).time;
  const absl::Duration together =
      times_.EstimateTiledTime(*producer, *only, /*keep_output=*/true).time;
  state->priority = Picoseconds(apart - together);
  if (state->priority < 0) return;
  state->only_consumer = only;
  queue_.emplace(Key{state->priority, state->id}, producer);
  state->queued = true;
}

bool FusionQueue::AddConsumer(const HloInstruction& producer,
                              const HloInstruction& consumer, Producer* state) {
  if (IsTransparentBitcast(consumer)) {
    ++state->bitcasts;
    return true;
  }
  FusionDecision decision = rules_.CanFuse(producer, consumer);
  if (!decision) {
    state->blocker = &consumer;
    state->reason = decision.Explain();
    state->savings.clear();
    state->saved = 0;
    state->bitcasts = 0;
    return false;
  }
  const int64_t saving =
      IsTransparentBitcast(producer)
          ? 0
          : Picoseconds(times_.EstimateRunTime(consumer).time -
                        times_.EstimateFusedTime(producer, consumer).time);
  state->savings[&consumer] = saving;
  state->saved += saving;
  return true;
}

void FusionQueue::Update(HloInstruction* producer) {
  Remove(producer);
  if (!rules_.CanBeProducer(*producer)) return;
  Producer& state = producers_[producer];
  state.id = producer->unique_id();
  // Consumers that never take a producer are found without pricing.
  for (const HloInstruction* user : producer->users()) {
    if (IsTransparentBitcast(*user)) continue;
    FusionDecision decision = rules_.CanBeConsumer(*user);
    if (decision) continue;
    state.blocker = user;
    state.reason = decision.Explain();
    return EnqueueAsResult(producer, &state);
  }
  for (const HloInstruction* user : producer->users()) {
    if (!AddConsumer(*producer, *user, &state)) {
      return EnqueueAsResult(producer, &state);
    }
  }
  Enqueue(producer, &state);
}

// Replaces one consumer's contribution. Costs one price instead of one per
// consumer.
void FusionQueue::ChangeConsumer(HloInstruction* producer,
                                 const HloInstruction* old_consumer,
                                 const HloInstruction* new_consumer) {
  auto it = producers_.find(producer);
  if (it == producers_.end()) return;
  Producer& state = it->second;
  if (state.blocker != nullptr) {
    if (state.only_consumer != nullptr || MayBeResult(*producer)) {
      return Update(producer);
    }
    if (state.blocker != old_consumer && state.blocker != new_consumer) return;
    if (new_consumer == nullptr) return Update(producer);
    FusionDecision decision = rules_.CanFuse(*producer, *new_consumer);
    if (decision) return Update(producer);
    state.blocker = new_consumer;
    state.reason = decision.Explain();
    return;
  }
  Dequeue(&state);
  for (const HloInstruction* consumer : {old_consumer, new_consumer}) {
    auto saving = state.savings.find(consumer);
    if (saving == state.savings.end()) continue;
    state.saved -= saving->second;
    state.savings.erase(saving);
  }
  if (new_consumer != nullptr &&
      !AddConsumer(*producer, *new_consumer, &state)) {
    return EnqueueAsResult(producer, &state);
  }
  Enqueue(producer, &state);
}

void FusionQueue::RemoveBitcast(HloInstruction* producer) {
  auto it = producers_.find(producer);
  // One that is blocked does not count its bitcasts.
  if (it == producers_.end() || it->second.blocker != nullptr) return;
  --it->second.bitcasts;
  Enqueue(producer, &it->second);
}

void FusionQueue::Remove(const HloInstruction* producer) {
  auto it = producers_.find(producer);
  if (it == producers_.end()) return;
  Dequeue(&it->second);
  producers_.erase(it);
}

FusionQueue::Fusion FusionQueue::Pop() {
  while (!queue_.empty()) {
    auto first = std::prev(queue_.end());
    HloInstruction* producer = first->second;
    queue_.erase(first);
    Producer& state = producers_.at(producer);
    state.queued = false;
    HloInstruction* only = state.only_consumer;
    if (only == nullptr || order_->CanMerge(*producer, *only)) {
      return {producer, only};
    }
    // A merge in the meantime has created a path between the two.
    Update(producer);
  }
  return {};
}

void FusionQueue::ForEachRefusal(
    absl::FunctionRef<void(const HloInstruction&, const HloInstruction*,
                           const std::string&, absl::Duration)>
        fn) const {
  std::vector<const HloInstruction*> producers;
  for (const auto& [producer, state] : producers_) {
    if (state.blocker != nullptr || !state.savings.empty()) {
      producers.push_back(producer);
    }
  }
  absl::c_sort(producers, [](const HloInstruction* a, const HloInstruction* b) {
    return a->unique_id() < b->unique_id();
  });
  for (const HloInstruction* producer : producers) {
    const Producer& state = producers_.at(producer);
    fn(*producer, state.blocker, state.reason,
       absl::Nanoseconds(-1e-3 * static_cast<double>(state.priority)));
  }
}

}  // namespace xla::gpu
