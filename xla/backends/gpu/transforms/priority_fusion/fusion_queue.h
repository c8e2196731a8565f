#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_order.h"
#include "xla/backends/gpu/transforms/priority_fusion/fusion_rules.h"
#include "xla/backends/gpu/transforms/priority_fusion/tiled_fusions.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// The producers that can be fused into all of their consumers except bitcasts,
// the one that saves the most time first.
//
//   priority(p) = time(p) + sum over consumers c of (time(c) - time(p in c))
//
// without time(p) if bitcasts keep p alive. Bitcasts save an infinite time.
// Producers whose fusion would cost time are not in the queue.
//
// With multi-output fusions of a tiling compiler, also producers that only one
// of at most 16 consumers can take, as results of the fusion:
//
//   priority(p) = time(p) + time(c) - time(p in c, p written)
//
// The saving of each pair is cached. When a consumer changes, a producer loses
// one pair and gains one; if a consumer cannot take the producer, the others
// are not examined until that one changes.
class FusionQueue {
 public:
  // All must outlive this. `order` is null without multi-output fusions.
  FusionQueue(FusionRules* rules, TiledFusions* times,
              const FusionOrder* order = nullptr)
      : rules_(*rules), times_(*times), order_(order) {}

  // Reprices a producer with all its consumers.
  void Update(HloInstruction* producer);
  // `old_consumer`, which read the producer, has become `new_consumer`; null if
  // it no longer reads it. They may be the same instruction, with more inside.
  void ChangeConsumer(HloInstruction* producer,
                      const HloInstruction* old_consumer,
                      const HloInstruction* new_consumer);
  // A bitcast that read the producer has gone.
  void RemoveBitcast(HloInstruction* producer);
  // The producer may have gone already.
  void Remove(const HloInstruction* producer);

  // The next fusion: the producer into all its consumers except bitcasts or, if
  // `only_consumer` is not null, into that one, while staying a result.
  struct Fusion {
    HloInstruction* producer = nullptr;
    HloInstruction* only_consumer = nullptr;
  };
  // Removes and returns the first one; it has no producer if the queue is
  // empty.
  Fusion Pop();

  // Calls `fn` with each producer that was not fused, and the consumer and
  // reason for it (no consumer if all of them could take it, but slower by
  // `loss`).
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
    // For a blocked producer: the only consumer that can keep it as a result.
    HloInstruction* only_consumer = nullptr;
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
  // Whether the producer may stay a result of what it is fused into.
  bool MayBeResult(const HloInstruction& producer) const;
  // Looks for the only consumer of one that is blocked.
  void EnqueueAsResult(HloInstruction* producer, Producer* state);
  void Enqueue(HloInstruction* producer, Producer* state);
  void Dequeue(Producer* state);

  FusionRules& rules_;
  TiledFusions& times_;
  const FusionOrder* order_;
  absl::flat_hash_map<const HloInstruction*, Producer> producers_;
  absl::btree_map<Key, HloInstruction*> queue_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_QUEUE_H_
