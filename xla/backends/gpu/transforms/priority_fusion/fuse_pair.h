#ifndef XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Fuses `producer` into its reader `consumer`, as a fusion of `kind`, and
// returns the fusion:
//  - the consumer, if it is a fusion, otherwise a new one that replaces it;
//  - the producer, if it is a fusion that nothing else reads and that is larger
//    than the consumer: then the consumer is fused into it, and replaced by it.
// O(size of the smaller one) in that case, O(producer) otherwise. The producer
// stays, unless it is returned, whether it is still read or not.
absl::StatusOr<HloInstruction*> FusePair(HloInstruction* producer,
                                         HloInstruction* consumer,
                                         HloInstruction::FusionKind kind);

// The same as a custom fusion that also returns the producer's result to its
// other users, through get-tuple-elements. The producer stays, without users.
absl::StatusOr<HloInstruction*> FusePairIntoMultiOutput(
    HloInstruction* producer, HloInstruction* consumer);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_PRIORITY_FUSION_FUSE_PAIR_H_
