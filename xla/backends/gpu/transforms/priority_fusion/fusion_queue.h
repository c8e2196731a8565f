#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// The producers that may be fused into all of their consumers but bitcasts, the
// one that saves the most time first.
//
//   priority(p) = time(p) + sum over consumers c of (time(c) - time(p in c))
//
// without time(p) if bitcasts keep p. Bitcasts save an infinite time. Those
// that would cost time are not in the queue.
//
// The saving of each pair is kept. When a consumer changes, a producer loses
// one pair and gains one; when a consumer cannot take the producer, the others
// are not looked at until that one changes.
class FusionQueue {
 public:
  // All must outlive this.
  FusionQueue(FusionRules* rules, GpuPerformanceModel* model)
      : rules_(*rules), model_(*model) {}

  // Prices a producer anew, with all its consumers.
  void Update(HloInstruction* producer);
  // `old_consumer`, which read the producer, has become `new_consumer`; null if
  // it reads it no longer. They may be the same instruction, with more in it.
  void ChangeConsumer(HloInstruction* producer,
                      const HloInstruction* old_consumer,
                      const HloInstruction* new_consumer);
  // A bitcast that read the producer has gone.
  void RemoveBitcast(HloInstruction* producer);
  // The producer may have gone already.
  void Remove(const HloInstruction* producer);

  // Takes the first one out; null if there is none.
  HloInstruction* Pop();

  // Calls `fn` with producers that stayed and the consumer and reason for it
  // (without consumer if all of them could take it, but slower by `loss`).
  void ForEachRefusal(
      absl::FunctionRef<void(const HloInstruction& producer,
                             const HloInstruction* consumer,
                             const std::string& reason, absl::Duration loss)>
          fn) const;

 private:
  struct Producer {
    // Cannot take it; `savings` is empty then.
    const HloInstruction* blocker = nullptr;
    std::string reason;
    // Picoseconds by consumer: small, so that one needs no memory of its own.
    absl::flat_hash_map<const HloInstruction*, int64_t> savings;
    int64_t saved = 0;
    int64_t bitcasts = 0;
    int64_t priority = 0;
    // Kept here since an instruction that has gone has no id.
    int64_t id = -1;
    bool queued = false;
  };
  using Key = std::pair<int64_t, int64_t>;

  // Adds a consumer; false if it blocks the producer.
  bool AddConsumer(const HloInstruction& producer,
                   const HloInstruction& consumer, Producer* state);
  void Enqueue(HloInstruction* producer, Producer* state);
  void Dequeue(Producer* state);

  FusionRules& rules_;
  GpuPerformanceModel& model_;
  absl::flat_hash_map<const HloInstruction*, Producer> producers_;
  absl::btree_map<Key, HloInstruction*> queue_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_
