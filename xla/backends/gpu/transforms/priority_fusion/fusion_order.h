#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_ORDER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_ORDER_H_

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/fusion/contracted_dag.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Which instructions of a computation depend on which, while they are fused.
//
//   p → u → c, p → c    p cannot go into c and stay u's operand: c would be
//                       there before and after u
class FusionOrder {
 public:
  explicit FusionOrder(const HloComputation& computation);

  // Whether the producer can become a result of its consumer's kernel without a
  // cycle. False for instructions that were added by other means than fusion.
  bool CanMerge(const HloInstruction& producer,
                const HloInstruction& consumer) const;

  // The producer has been fused into a consumer; it may stay for others.
  // `fusion`: what the consumer has become.
  void Fused(const HloInstruction& producer, const HloInstruction& consumer,
             const HloInstruction& fusion);
  // The producer has become a result of the fusion; CanMerge was true.
  void Merged(const HloInstruction& producer, const HloInstruction& consumer,
              const HloInstruction& fusion);

  // It has been fused into all of its readers.
  void Remove(const HloInstruction& instruction);

 private:
  // kNone if it is unknown.
  ContractedDag::Node NodeOf(const HloInstruction& instruction) const;

  absl::flat_hash_map<const HloInstruction*, ContractedDag::Node> nodes_;
  ContractedDag dag_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSION_ORDER_H_
